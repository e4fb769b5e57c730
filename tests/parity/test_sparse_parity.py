"""Sparse tensors beside torch: the same program with both libraries gives the same parts, texts, gradients and layouts of gradients."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pytest

import undertow as ut

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

INDICES = [[0, 1, 1, 0], [2, 0, 2, 2]]
VALUES = [3.0, 4.0, -5.0, 6.0]


def sample(lib, coalesced=False, dtype="float64", requires_grad=False):
    t = lib.sparse_coo_tensor(INDICES, VALUES, (2, 3), dtype=getattr(lib, dtype))
    t = t.coalesce() if coalesced else t
    return t.requires_grad_(requires_grad)


def hybrid(lib):
    return lib.sparse_coo_tensor([[0, 2, 0]], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], (3, 2))


def dense(lib, *shape):
    n = int(np.prod(shape))
    return lib.tensor((np.arange(n) * 0.37 - 1).reshape(shape))


def described(t):
    """What two libraries must agree on: layout, shape, dtype and elements, and the parts of a coalesced tensor."""
    if not hasattr(t, "layout"):
        return t
    layout, dtype = str(t.layout).rpartition(".")[2], str(t.dtype).rpartition(".")[2]
    plain = t.detach().to_dense() if layout != "strided" else t.detach()
    elements = plain.numpy()
    if elements.dtype.kind == "f":
        elements = np.round(elements.astype("float64"), 9) + 0.0
    found = [layout, dtype, tuple(t.shape), elements.tolist()]
    if layout == "sparse_coo":
        found += [t.is_coalesced(), t.sparse_dim(), t.dense_dim()]
        if t.is_coalesced():
            found += [t.indices().tolist(), t._nnz()]
    return found


def outcome(function, lib):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = function(lib)
    except Exception as error:
        return type(error).__name__
    if isinstance(result, (tuple, list)):
        return [described(t) for t in result]
    return described(result)


VALUES_OF = {
    "empty": lambda t: t.sparse_coo_tensor((2, 3)),
    "empty_by_keyword": lambda t: t.sparse_coo_tensor(size=(2, 3)),
    "inferred_size": lambda t: t.sparse_coo_tensor(INDICES, VALUES),
    "integers": lambda t: t.sparse_coo_tensor([[0, 1]], [1, 2]),
    "from_numpy": lambda t: t.sparse_coo_tensor(np.array([[0, 1]], dtype="int32"), np.array([1.0, 2.0])),
    "hybrid": hybrid,
    "coalesce": lambda t: sample(t).coalesce(),
    "hybrid_coalesce": lambda t: hybrid(t).coalesce(),
    "to_dense": lambda t: sample(t).to_dense(),
    "to_sparse": lambda t: dense(t, 2, 3).relu().to_sparse(),
    "to_sparse_1": lambda t: dense(t, 3, 2).relu().to_sparse(1),
    "scalar": lambda t: t.sparse_coo_tensor(t.zeros(0, 1, dtype=t.int64), [5.0], ()),
    "half": lambda t: sample(t).half(),
    "clone": lambda t: sample(t).clone(),
    "double_of_int": lambda t: t.sparse_coo_tensor([[0, 1]], [1, 2]).double(),
    "add": lambda t: sample(t) + sample(t),
    "add_coalesced": lambda t: sample(t, True) + t.sparse_coo_tensor([[1], [1]], [2.0], (2, 3), dtype=t.float64).coalesce(),
    "add_alpha": lambda t: t.add(sample(t, True), sample(t, True), alpha=3),
    "add_dense": lambda t: dense(t, 2, 3) + sample(t),
    "add_promotes": lambda t: t.sparse_coo_tensor([[0, 1]], [1, 2]) + t.sparse_coo_tensor([[0, 1]], [1.5, 2.5]),
    "add_in_place": lambda t: dense(t, 2, 3).add_(sample(t), alpha=2),
    "sub": lambda t: sample(t, True) - sample(t, True),
    "dense_sub": lambda t: dense(t, 2, 3) - sample(t),
    "mul_dense": lambda t: sample(t, True) * dense(t, 2, 3),
    "mul_dense_uncoalesced": lambda t: sample(t) * dense(t, 2, 3),
    "mul_from_the_left": lambda t: dense(t, 2, 3) * sample(t, True),
    "mul_sparse": lambda t: sample(t, True) * t.sparse_coo_tensor([[0, 1], [2, 1]], [2.0, 3.0], (2, 3), dtype=t.float64).coalesce(),
    "mul_number": lambda t: sample(t) * 2,
    "number_mul": lambda t: 2 * sample(t),
    "mul_zero_dim": lambda t: sample(t) * t.tensor(3.0, dtype=t.float64),
    "mul_row": lambda t: sample(t, True) * dense(t, 3),
    "mul_column": lambda t: sample(t, True) * dense(t, 2, 1),
    "mul_in_place": lambda t: sample(t).mul_(2),
    "dense_mul_in_place": lambda t: dense(t, 2, 3).mul_(sample(t)),
    "div": lambda t: sample(t) / 4,
    "int_div": lambda t: t.sparse_coo_tensor([[0, 1]], [1, 2]) / 2,
    "floor_div": lambda t: sample(t) // 2,
    "neg": lambda t: -sample(t),
    "pow": lambda t: sample(t) ** 2,
    "mm": lambda t: sample(t) @ dense(t, 3, 4),
    "mm_from_the_left": lambda t: dense(t, 4, 2) @ sample(t),
    "mm_sparse": lambda t: sample(t) @ sample(t).t(),
    "mv": lambda t: sample(t) @ dense(t, 3),
    "vm": lambda t: dense(t, 2) @ sample(t),
    "addmm": lambda t: t.addmm(dense(t, 2, 4), sample(t), dense(t, 3, 4), beta=0.5, alpha=2),
    "bmm": lambda t: t.bmm(t.stack([sample(t), sample(t) * 2]), dense(t, 2, 3, 2)),
    "sparse_mm": lambda t: t.sparse.mm(sample(t), dense(t, 3, 4)),
    "sparse_mm_of_sparse": lambda t: t.sparse.mm(sample(t), sample(t).t()),
    "sparse_addmm": lambda t: t.sparse.addmm(dense(t, 2, 4), sample(t), dense(t, 3, 4), beta=2, alpha=3),
    "sparse_sum": lambda t: t.sparse.sum(sample(t)),
    "sparse_sum_0": lambda t: t.sparse.sum(sample(t), 0),
    "sparse_sum_both": lambda t: t.sparse.sum(sample(t), (0, 1)),
    "sparse_sum_dtype": lambda t: t.sparse.sum(sample(t), 1, dtype=t.float32),
    "hybrid_sum_0": lambda t: t.sparse.sum(hybrid(t), 0),
    "hybrid_sum_1": lambda t: t.sparse.sum(hybrid(t), 1),
    "sum": lambda t: sample(t).sum(),
    "sum_dim": lambda t: sample(t).sum(0),
    "softmax": lambda t: t.sparse.softmax(sample(t), 1),
    "softmax_0": lambda t: t.sparse.softmax(sample(t), 0),
    "log_softmax": lambda t: t.sparse.log_softmax(sample(t), 1),
    "hybrid_softmax": lambda t: t.sparse.softmax(hybrid(t), 1),
    "norm": lambda t: sample(t).norm(),
    "any": lambda t: sample(t).any(),
    "t": lambda t: sample(t, True).t(),
    "transpose": lambda t: sample(t, True).transpose(0, 1),
    "permute": lambda t: sample(t).permute(1, 0),
    "unsqueeze": lambda t: sample(t).unsqueeze(1),
    "unsqueeze_dense": lambda t: hybrid(t).unsqueeze(2),
    "select": lambda t: sample(t)[1],
    "select_1": lambda t: sample(t).select(1, 2),
    "select_last": lambda t: hybrid(t)[2],
    "select_dense": lambda t: hybrid(t)[:, 1],
    "narrow_copy": lambda t: sample(t).narrow_copy(1, 1, 2),
    "index_select": lambda t: sample(t).index_select(1, t.tensor([2, 0, 2])),
    "index_select_dense": lambda t: hybrid(t).index_select(1, t.tensor([1, 0, 1])),
    "cat": lambda t: t.cat([sample(t), sample(t)]),
    "cat_1": lambda t: t.cat([sample(t), sample(t)], 1),
    "stack": lambda t: t.stack([sample(t), sample(t)]),
    "zeros_like": lambda t: t.zeros_like(hybrid(t)),
    "zero_": lambda t: hybrid(t).zero_(),
    "sparse_mask": lambda t: dense(t, 2, 3).sparse_mask(sample(t, True)),
    "sparse_mask_of_sparse": lambda t: sample(t, True).sparse_mask(t.eye(2, 3, dtype=t.float64).to_sparse()),
    "spdiags": lambda t: t.sparse.spdiags(dense(t, 2, 3), t.tensor([0, 1]), (3, 3)),
    "csr": lambda t: dense(t, 2, 3).relu().to_sparse_csr(),
    "csc": lambda t: dense(t, 2, 3).relu().to_sparse_csc(),
    "bsr": lambda t: dense(t, 4, 6).relu().to_sparse_bsr((2, 3)),
    "bsc": lambda t: dense(t, 4, 6).relu().to_sparse_bsc((2, 3)),
    "csr_of_coo": lambda t: sample(t).to_sparse_csr(),
    "coo_of_csr": lambda t: sample(t).to_sparse_csr().to_sparse(),
    "csc_of_csr": lambda t: sample(t).to_sparse_csr().to_sparse_csc(),
    "csr_tensor": lambda t: t.sparse_csr_tensor([0, 1, 3], [1, 0, 2], [1.0, 2.0, 3.0], (2, 3)),
    "csr_tensor_inferred": lambda t: t.sparse_csr_tensor([0, 1, 3], [1, 0, 2], [1.0, 2.0, 3.0]),
    "csc_tensor": lambda t: t.sparse_csc_tensor([0, 1, 3], [1, 0, 2], [1.0, 2.0, 3.0], (3, 2)),
    "compressed_tensor": lambda t: t.sparse_compressed_tensor([0, 1, 3], [1, 0, 2], [1.0, 2.0, 3.0], (2, 3), layout=t.sparse_csr),
    "csr_mm": lambda t: sample(t).to_sparse_csr() @ dense(t, 3, 4),
    "csr_mv": lambda t: sample(t).to_sparse_csr() @ dense(t, 3),
    "csr_t": lambda t: sample(t).to_sparse_csr().t(),
    "csr_mul_number": lambda t: sample(t).to_sparse_csr() * 2,
    "csr_sin": lambda t: sample(t).to_sparse_csr().sin(),
    "csr_neg": lambda t: -sample(t).to_sparse_csr(),
    "csr_add": lambda t: sample(t).to_sparse_csr() + sample(t).to_sparse_csr(),
    "csr_parts": lambda t: [getattr(sample(t).to_sparse_csr(), name)() for name in ("crow_indices", "col_indices", "values")],
    "csc_parts": lambda t: [getattr(sample(t).to_sparse_csc(), name)() for name in ("ccol_indices", "row_indices", "values")],
    "sampled_addmm": lambda t: t.sparse.sampled_addmm(sample(t).to_sparse_csr(), dense(t, 2, 4), dense(t, 4, 3), beta=2, alpha=0.5),
    "smm": lambda t: t.smm(sample(t, True), dense(t, 3, 2)),
    "hspmm": lambda t: t.hspmm(sample(t, True), dense(t, 3, 2)),
    "index_put_through_a_row": lambda t: sample(t).to_dense()[1],
    "negative_index": lambda t: t.sparse_coo_tensor([[0, -1]], [1.0, 2.0]),
    "wrong_nnz": lambda t: t.sparse_coo_tensor([[0, 1]], [1.0, 2.0, 3.0]),
    "wrong_dims": lambda t: t.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (3, 3)),
    "uncoalesced_indices": lambda t: sample(t).indices(),
    "uncoalesced_values": lambda t: sample(t).values(),
    "strided_indices": lambda t: t.ones(2).indices(),
    "strided_coalesce": lambda t: t.ones(2).coalesce(),
    "strided_nnz": lambda t: t.ones(2)._nnz(),
    "sparse_plus_dense": lambda t: sample(t) + dense(t, 2, 3),
    "exp": lambda t: sample(t).exp(),
    "view": lambda t: sample(t).view(6),
    "pow_zero": lambda t: sample(t) ** 0,
    "div_by_dense": lambda t: sample(t) / dense(t, 2, 3),
    "set_item": lambda t: sample(t).__setitem__(0, 1.0),
    "fill_": lambda t: sample(t).fill_(1),
    "copy_dense": lambda t: dense(t, 2, 3).copy_(sample(t)),
    "broadcast_add": lambda t: dense(t, 4, 2, 3) + sample(t),
    "hybrid_t": lambda t: hybrid(t).t(),
    "csr_of_vector": lambda t: t.sparse_coo_tensor([[0]], [1.0], (2,)).to_sparse_csr(),
    "tolist": lambda t: sample(t).tolist(),
    "numpy": lambda t: sample(t).numpy(),
}


@pytest.mark.parametrize("name", VALUES_OF)
def test_values_and_errors(name):
    assert outcome(VALUES_OF[name], ut) == outcome(VALUES_OF[name], torch)


UNARY = "abs sin sinh asin asinh tan tanh atan atanh sqrt ceil floor round trunc frac sign sgn relu expm1 log1p erf erfinv deg2rad rad2deg signbit isnan isinf neg"


@pytest.mark.parametrize("coalesced", [False, True])
@pytest.mark.parametrize("name", UNARY.split())
def test_functions_that_keep_zero(name, coalesced):
    def run(lib):
        t = sample(lib, coalesced) / 12
        return getattr(t, name)()

    assert str(outcome(run, ut)).replace("nan", "0") == str(outcome(run, torch)).replace("nan", "0")


PRINTED = {
    "coo": sample,
    "coalesced": lambda t: sample(t, True, "float32"),
    "hybrid": hybrid,
    "empty": lambda t: t.sparse_coo_tensor((2, 3)),
    "leaf": lambda t: sample(t, requires_grad=True),
    "history": lambda t: sample(t, requires_grad=True) * 2,
    "int32": lambda t: t.sparse_coo_tensor([[0, 1]], [1, 2], dtype=t.int32),
    "csr": lambda t: sample(t, dtype="float32").to_sparse_csr(),
    "csc": lambda t: sample(t, dtype="float32").to_sparse_csc(),
    "bsr": lambda t: t.eye(4).to_sparse_bsr((2, 2)),
    "large": lambda t: t.eye(60).to_sparse(),
    "parameter": lambda t: t.nn.Parameter(sample(t)),
}


@pytest.mark.parametrize("name", PRINTED)
def test_printing(name):
    assert repr(PRINTED[name](ut)).replace("undertow.", "torch.") == repr(PRINTED[name](torch))


# A function of a sparse leaf and of dense ones; the gradients of all must have torch's layout and values.
GRADIENTS = {
    "to_dense": (lambda t, a: a.to_dense(), ()),
    "coalesce": (lambda t, a: a.coalesce(), ()),
    "values": (lambda t, a: a.coalesce().values(), ()),
    "sum": (lambda t, a: a.sum(), ()),
    "sparse_sum": (lambda t, a: t.sparse.sum(a), ()),
    "sparse_sum_0": (lambda t, a: t.sparse.sum(a, 0), ()),
    "sparse_sum_both": (lambda t, a: t.sparse.sum(a, (0, 1)), ()),
    "sparse_mm": (lambda t, a, d: t.sparse.mm(a, d), ((3, 4),)),
    "mm": (lambda t, a, d: a @ d, ((3, 4),)),
    "mm_from_the_left": (lambda t, a, d: d @ a, ((4, 2),)),
    "mm_sparse": (lambda t, a: a @ a.t(), ()),
    "sparse_mm_of_sparse": (lambda t, a: t.sparse.mm(a, a.t()), ()),
    "mv": (lambda t, a, d: a @ d, ((3,),)),
    "sparse_addmm": (lambda t, a, d, z: t.sparse.addmm(z, a, d), ((3, 4), (2, 4))),
    "addmm": (lambda t, a, d, z: t.addmm(z, a, d), ((3, 4), (2, 4))),
    "mul_dense": (lambda t, a, d: a * d, ((2, 3),)),
    "mul_number": (lambda t, a: a * 2, ()),
    "mul_self": (lambda t, a: a.coalesce() * a.coalesce(), ()),
    "add": (lambda t, a: a + a, ()),
    "sub": (lambda t, a: a - a * 2, ()),
    "add_dense": (lambda t, a, d: d + a, ((2, 3),)),
    "div": (lambda t, a: a / 2, ()),
    "div_zero_dim": (lambda t, a, d: a / d, ((),)),
    "neg": (lambda t, a: -a, ()),
    "pow": (lambda t, a: a**2, ()),
    "relu": (lambda t, a: a.relu(), ()),
    "abs": (lambda t, a: a.abs(), ()),
    "t": (lambda t, a: a.t(), ()),
    "transpose": (lambda t, a: a.transpose(0, 1), ()),
    "clone": (lambda t, a: a.clone(), ()),
    "float": (lambda t, a: a.float(), ()),
    "stack": (lambda t, a: t.stack([a, a]), ()),
    "softmax": (lambda t, a: t.sparse.softmax(a, 1), ()),
    "log_softmax": (lambda t, a: t.sparse.log_softmax(a, 1), ()),
    "sparse_mask": (lambda t, a, d: d.sparse_mask(sample(t, True)), ((2, 3),)),
    "sparse_mask_of_sparse": (lambda t, a: a.sparse_mask(sample(t, True)), ()),
    "bmm": (lambda t, a, d: t.bmm(t.stack([a, a]), d), ((2, 3, 2),)),
    "to_sparse": (lambda t, a, d: d.to_sparse(), ((2, 3),)),
    "to_sparse_csr": (lambda t, a, d: d.to_sparse_csr(), ((2, 3),)),
    "through_csr": (lambda t, a: a.to_sparse_csr().to_dense(), ()),
}
SAME_NODE = set(GRADIENTS) - {"stack", "sparse_addmm", "addmm", "sparse_sum_both", "div_zero_dim"}


@pytest.mark.parametrize("coalesced", [False, True])
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_have_torchs_layout(name, coalesced):
    function, shapes = GRADIENTS[name]

    def run(lib):
        leaves = [sample(lib, coalesced, requires_grad=True), *(dense(lib, *s).requires_grad_() for s in shapes)]
        out = function(lib, *leaves)
        plain = out.to_dense() if out.layout is not lib.strided else out
        weights = lib.tensor(np.cos(np.arange(plain.numel())).reshape(tuple(plain.shape)), dtype=plain.dtype)
        grads = lib.autograd.grad((plain * weights).sum(), leaves, allow_unused=True)
        node = type(out.grad_fn).__name__ if name in SAME_NODE and out.grad_fn is not None else None
        return node, [None if g is None else described(g)[:4] for g in grads]

    assert run(ut) == run(torch)


def embedding_run(lib, steps, make):
    weight = lib.tensor((np.arange(10) * 0.3 - 1).reshape(5, 2), dtype=lib.float32, requires_grad=True)
    optimizer = make(lib, weight)
    for step in range(steps):
        optimizer.zero_grad()
        out = lib.nn.functional.embedding(lib.tensor([[1, 3], [1, step % 5]]), weight, sparse=True)
        (out * out).sum().backward()
        assert weight.grad.is_sparse
        optimizer.step()
    return weight.detach().numpy()


OPTIMIZERS = {
    "sgd": lambda t, w: t.optim.SGD([w], lr=0.1),
    "sgd_momentum": lambda t, w: t.optim.SGD([w], lr=0.1, momentum=0.9),
    "sgd_nesterov": lambda t, w: t.optim.SGD([w], lr=0.1, momentum=0.9, nesterov=True),
    "sgd_maximize": lambda t, w: t.optim.SGD([w], lr=0.1, maximize=True),
    "adagrad": lambda t, w: t.optim.Adagrad([w], lr=0.1, lr_decay=0.1),
    "sparse_adam": lambda t, w: t.optim.SparseAdam([w], lr=0.1),
    "sparse_adam_maximize": lambda t, w: t.optim.SparseAdam([w], lr=0.1, maximize=True),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_on_sparse_gradients(name):
    np.testing.assert_allclose(embedding_run(ut, 5, OPTIMIZERS[name]), embedding_run(torch, 5, OPTIMIZERS[name]), rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop", "SGD", "SparseAdam"])
def test_optimizers_raise_torchs_errors(name):
    def error(lib):
        weight = lib.ones(3, 2, requires_grad=True)
        options = {"weight_decay": 0.1} if name in ("Adagrad", "SGD") else {}
        optimizer = getattr(lib.optim, name)([weight], **options)
        lib.nn.functional.embedding(lib.tensor([1]), weight, sparse=name != "SparseAdam").sum().backward()
        with pytest.raises(RuntimeError) as caught:
            optimizer.step()
        return str(caught.value)

    assert error(ut) == error(torch)


def test_gradients_of_embeddings():
    def run(lib):
        found = []
        for options in ({}, {"padding_idx": 1}, {"max_norm": 0.5}):
            weight = lib.tensor((np.arange(8) * 0.3 - 1).reshape(4, 2), requires_grad=True)
            table = lib.nn.Embedding(4, 2, sparse=True, _weight=weight, **options)
            (table(lib.tensor([[1, 3], [1, 0]])) ** 2).sum().backward()
            g = table.weight.grad
            found.append([*described(g), g._indices().tolist(), np.round(g._values().numpy(), 6).tolist()])
        for mode in ("sum", "mean"):
            weight = lib.tensor((np.arange(8) * 0.3 - 1).reshape(4, 2), requires_grad=True)
            bag = lib.nn.EmbeddingBag(4, 2, mode=mode, sparse=True, _weight=weight)
            (bag(lib.tensor([1, 3, 1, 0]), lib.tensor([0, 2])) ** 2).sum().backward()
            found.append([*described(bag.weight.grad), bag.weight.grad._indices().tolist()])
        return found

    assert run(ut) == run(torch)


def test_gradients_of_both_kinds_accumulate():
    def run(lib):
        found = []
        index = lib.tensor([0, 2])
        for kinds in ("ss", "sd", "ds", "dd", "ssd", "dss"):
            weight = lib.ones(3, 2, requires_grad=True)
            for kind in kinds:  # one pass each
                lib.nn.functional.embedding(index, weight, sparse=kind == "s").sum().backward()
            found.append(described(weight.grad)[:4])
            weight.grad = None
            total = sum(lib.nn.functional.embedding(index, weight, sparse=kind == "s").sum() for kind in kinds)  # one pass for all
            total.backward()
            found.append(described(weight.grad)[:4])
        return found

    assert run(ut) == run(torch)


def test_gather_with_a_sparse_gradient():
    def run(lib):
        found = []
        for dim in (0, 1):
            x = lib.tensor((np.arange(6.0)).reshape(2, 3), requires_grad=True)
            (x.gather(dim, lib.tensor([[0, 1], [1, 0]]), sparse_grad=True) ** 2).sum().backward()
            found.append([*described(x.grad), x.grad.coalesce().indices().tolist()])
        return found

    assert run(ut) == run(torch)


def test_hooks_see_sparse_gradients():
    def run(lib):
        seen = []
        weight = lib.ones(3, 2, requires_grad=True)
        weight.register_hook(lambda g: seen.append(described(g)[:4]))
        weight.register_post_accumulate_grad_hook(lambda p: seen.append(described(p.grad)[:4]))
        out = lib.nn.functional.embedding(lib.tensor([0, 2]), weight, sparse=True).sum()
        out.backward(retain_graph=True)
        seen.append(described(lib.autograd.grad(out, weight)[0])[:4])
        return seen

    assert run(ut) == run(torch)


SAVED = {
    "coo": sample,
    "coalesced": lambda t: sample(t, True),
    "hybrid": hybrid,
    "csr": lambda t: sample(t).to_sparse_csr(),
    "csc": lambda t: sample(t).to_sparse_csc(),
    "bsr": lambda t: t.eye(4).to_sparse_bsr((2, 2)),
}


@pytest.mark.parametrize("name", SAVED)
def test_files_travel_in_both_directions(name):
    for writer, reader in ((ut, torch), (torch, ut), (ut, ut)):
        file = io.BytesIO()
        writer.save({"t": SAVED[name](writer), "list": [1, 2]}, file)
        file.seek(0)
        loaded = reader.load(file, weights_only=True)["t"]
        assert described(loaded) == described(SAVED[name](torch))
        if name in ("coo", "coalesced", "hybrid"):
            assert loaded._nnz() == SAVED[name](torch)._nnz()


def test_second_derivatives():
    def run(lib):
        a = sample(lib, True, requires_grad=True)
        d = dense(lib, 3, 2).requires_grad_()
        (g,) = lib.autograd.grad((lib.sparse.mm(a, d) ** 2).sum(), d, create_graph=True)
        return [described(t)[:4] for t in lib.autograd.grad((g**2).sum(), [a, d])]

    assert run(ut) == run(torch)
