"""Every sparse operator against the same operator on the dense tensor: values, first derivatives, and derivatives of derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import undertow as ut

INDICES = [[0, 1, 1, 0, 2], [2, 0, 2, 2, 1]]


def matrix(requires_grad=False, coalesced=False, layout=ut.sparse_coo):
    t = ut.sparse_coo_tensor(INDICES, [0.3, 0.4, -0.5, 0.6, 0.2], (3, 4), dtype=ut.float64)
    t = t.coalesce() if coalesced else t
    t = t if layout is ut.sparse_coo else t.to_sparse(layout=layout)
    return t.detach().requires_grad_(requires_grad)


def dense(*shape):
    return ut.tensor(np.sin(np.arange(int(np.prod(shape)))).reshape(shape))


def plain(t):
    return t.to_dense() if t.layout is not ut.strided else t


OPERATORS = {
    "neg": lambda x: -x,
    "clone": lambda x: x.clone(),
    "mul_number": lambda x: x * 3,
    "mul_dense": lambda x: x * dense(3, 4),
    "dense_mul": lambda x: dense(3, 4) * x,
    "mul_row": lambda x: x * dense(4),
    "mul_column": lambda x: x * dense(3, 1),
    "mul_self": lambda x: x * x,
    "add_self": lambda x: x + x,
    "add_to_dense": lambda x: dense(3, 4) + x,
    "sub": lambda x: x - x * 2,
    "div": lambda x: x / 3,
    "pow": lambda x: x**3,
    "sin": lambda x: x.sin(),
    "tanh": lambda x: x.tanh(),
    "relu": lambda x: x.relu(),
    "mm": lambda x: x @ dense(4, 2),
    "mm_from_the_left": lambda x: dense(2, 3) @ x,
    "mm_transposed": lambda x: x @ x.t(),
    "mv": lambda x: x @ dense(4),
    "vm": lambda x: dense(3) @ x,
    "addmm": lambda x: ut.addmm(dense(3, 2), x, dense(4, 2), beta=0.5, alpha=2),
    "bmm": lambda x: ut.bmm(ut.stack([x, x * 2]), dense(2, 4, 3)),
    "sum": lambda x: x.sum(),
    "sum_0": lambda x: x.sum(0),
    "sum_1_keepdim": lambda x: x.sum(1, keepdim=True),
    "t": lambda x: x.t(),
    "transpose": lambda x: x.transpose(0, 1),
    "permute": lambda x: x.permute(1, 0),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "squeeze": lambda x: x.unsqueeze(0).squeeze(0),
    "select": lambda x: x[1],
    "select_1": lambda x: x.select(1, 2),
    "slice": lambda x: x[:, 1:],
    "slice_step": lambda x: x[:, ::2],
    "narrow": lambda x: x.narrow(0, 1, 2),
    "index_select": lambda x: x.index_select(1, ut.tensor([2, 0, 2])),
    "cat": lambda x: ut.cat([x, x * 2]),
    "cat_1": lambda x: ut.cat([x, x * 2], 1),
    "stack": lambda x: ut.stack([x, x * 2], 1),
    "norm": lambda x: x.norm(),
}
LAYOUTS = {"coo": ut.sparse_coo, "csr": ut.sparse_csr, "csc": ut.sparse_csc}
COO_ONLY = ("unsqueeze", "squeeze", "bmm", "stack", "sum_1_keepdim", "select", "select_1", "sum_0", "permute")  # the result is no matrix
# Compressed layouts are always coalesced.
CASES = [(n, c, layout) for n in OPERATORS for layout in LAYOUTS for c in (False, True) if layout == "coo" or (n not in COO_ONLY and not c)]


@pytest.mark.parametrize(("name", "coalesced", "layout"), CASES)
def test_values_and_derivatives_equal_those_of_the_dense_tensor(name, coalesced, layout):
    function = OPERATORS[name]
    x = matrix(True, coalesced, LAYOUTS[layout])
    y = x.detach().to_dense().requires_grad_()
    ours, theirs = plain(function(x)), function(y)
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-12, atol=1e-12)
    weights = dense(*theirs.shape)
    (g,) = ut.autograd.grad((ours * ours * weights).sum(), x, create_graph=True)
    (h,) = ut.autograd.grad((theirs * theirs * weights).sum(), y, create_graph=True)
    at = tuple(matrix().coalesce().indices())  # a sparse gradient is specified where the tensor is
    np.testing.assert_allclose(plain(g.detach())[at].numpy(), h.detach()[at].numpy(), rtol=1e-9, atol=1e-12)
    mask = ut.zeros(3, 4, dtype=ut.float64)
    mask[at] = 1
    again = ut.autograd.grad((plain(g) * mask * dense(3, 4)).sum(), x, allow_unused=True)[0]
    expected = ut.autograd.grad((h * mask * dense(3, 4)).sum(), y, allow_unused=True)[0]
    if expected is None or again is None:
        assert all(t is None or not plain(t.detach()).any() for t in (again, expected))
    else:
        np.testing.assert_allclose(plain(again.detach())[at].numpy(), expected.detach()[at].numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("entry", ["exp", "cos", "view", "sort", "cumsum", "max", "conv1d", "fft_fft", "masked_fill", "where", "cumprod", "index"])
def test_an_operator_without_a_rule_names_itself_and_the_layout(entry):
    calls = {
        "view": lambda t: t.view(12), "cumsum": lambda t: t.cumsum(0), "conv1d": lambda t: ut.nn.functional.conv1d(t, t), "cumprod": lambda t: t.cumprod(0),
        "fft_fft": lambda t: ut.fft.fft(t), "masked_fill": lambda t: t.masked_fill(ut.ones(3, 4, dtype=ut.bool), 0), "where": lambda t: ut.where(t, t, t),
        "index": lambda t: t[ut.tensor([0])],
    }
    with pytest.raises((NotImplementedError, RuntimeError)) as caught:
        calls.get(entry, lambda t: getattr(t, entry)())(matrix())
    assert entry in ("where", "conv1d", "fft_fft") or (entry in str(caught.value) and "sparse_coo" in str(caught.value))


def test_in_place_writes_change_the_parts():
    x = matrix()
    alias = x.detach()
    before = x._version
    x.mul_(2)
    assert x._version > before and alias.to_dense().equal(x.to_dense())
    assert x.zero_()._nnz() == 0 and not x.to_dense().any()
    leaf = matrix(True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        leaf.mul_(2)
    with ut.no_grad():
        leaf.mul_(2)
    assert leaf.requires_grad


def test_elements_are_not_reachable_as_memory():
    x = matrix()
    for action in (lambda: x.data_ptr(), lambda: x.untyped_storage(), lambda: x.tolist(), lambda: ut.to_dlpack(x), lambda: memoryview(x),
                   lambda: x.set_(), lambda: ut.zeros(3).set_(x), lambda: np.asarray(x), lambda: x.resize_(2), lambda: x.__setitem__(0, 1)):
        with pytest.raises((RuntimeError, TypeError, NotImplementedError, AttributeError), match="[Ss]parse|memoryview|to_dlpack"):
            action()


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize(
    "made",
    [
        lambda s, d: s.to_dense(), lambda s, d: s.to_sparse_csr().to_dense(), lambda s, d: s.to_sparse_bsr((1, 1)).to_dense(),
        lambda s, d: d.to_sparse(1).to_dense(), lambda s, d: ut.sparse.mm(s, d), lambda s, d: s @ d, lambda s, d: s @ d[0], lambda s, d: d @ s,
        lambda s, d: d + s, lambda s, d: ut.addmm(d, s, d), lambda s, d: ut.sparse.sum(s), lambda s, d: ut.mv(s, d[0]),
    ],
    ids=["coo", "csr", "bsr", "hybrid", "sparse.mm", "matmul", "matmul with a vector", "dense @ sparse", "add", "addmm", "sum", "mv"],
)  # fmt: skip
def test_dense_results_are_new_and_can_be_written(made, recorded):
    dense = ut.eye(3, requires_grad=recorded)
    result = made(dense.to_sparse(), dense)
    assert result._version == 0
    result.mul_(ut.ones((), requires_grad=True))
    assert result.requires_grad


@pytest.mark.parametrize(
    "made",
    [
        lambda x: x.to_sparse(), lambda x: x.to_sparse_csr(), lambda x: x.to_sparse_bsc((1, 1)), lambda x: x.to_sparse(1),
        lambda x: x.sparse_mask(ut.eye(3).to_sparse()), lambda x: ut.sparse_coo_tensor([[0, 1, 2]], x).clone(),
        lambda x: ut.sparse_csr_tensor([0, 1, 2, 3], [0, 1, 2], x.diagonal()).clone(),
    ],
    ids=["coo", "csr", "bsc", "hybrid", "mask", "from values", "compressed from values"],
)  # fmt: skip
def test_what_a_sparse_tensor_was_made_from_may_be_written(made):
    leaf = ut.ones(3, 3, requires_grad=True)
    x = leaf * 2
    (wanted,) = ut.autograd.grad(made(x).to_dense().sum(), leaf)
    sparse = made(x)
    x.mul_(3)
    (found,) = ut.autograd.grad(sparse.to_dense().sum(), leaf)
    assert ut.equal(found, wanted)


def test_a_mask_without_dimensions_and_indices():
    mask = ut.tensor(0.0).to_sparse()
    assert ut.tensor(2.0).sparse_mask(mask).to_dense() == 0


def test_a_tensor_without_dimensions_has_one_to_transpose():
    t = ut.tensor(2.0).to_sparse()
    assert t.transpose(0, -1).to_dense() == 2
    with pytest.raises(IndexError, match=r"range of \[-1, 0\], but got -2"):
        t.transpose(0, -2)
