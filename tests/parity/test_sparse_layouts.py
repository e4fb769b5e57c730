"""Compressed tensors in batches, factory functions with layout=, and gradcheck of sparse inputs beside torch."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pytest

import undertow as ut
from tests.parity.test_sparse_parity import described

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

LAYOUTS = ["sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"]


def dense(lib):
    d = np.zeros((2, 3, 4))
    d[0, 0, 1], d[0, 2, 3], d[1, 1, 0], d[1, 1, 2] = 1.0, 2.0, 3.0, 4.0
    return lib.tensor(d)


def batch(lib, layout, d=None, **options):
    blocks = {"blocksize": (1, 2)} if "bs" in layout else {}
    return (dense(lib) if d is None else d).to_sparse(layout=getattr(lib, layout), **blocks, **options)


def parts(t):
    """The description of a tensor, with its indices and values if it is compressed."""
    found = described(t)
    if "_cs" in found[0] or "_bs" in found[0]:
        names = ("crow_indices", "col_indices") if found[0] in ("sparse_csr", "sparse_bsr") else ("ccol_indices", "row_indices")
        found += [getattr(t, name)().tolist() for name in names] + [np.round(t.values().detach().numpy(), 9).tolist(), t._nnz(), t.dense_dim()]
    elif found[0] == "sparse_coo":
        found += [t._indices().tolist(), t._values().tolist()]
    return found


def outcome(function, lib):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return parts(function(lib))
        except Exception as error:  # noqa: BLE001  # the class is what is compared
            return "RuntimeError" if isinstance(error, RuntimeError) else type(error).__name__


def hybrid(lib, layout):
    return batch(lib, layout, dense(lib).unsqueeze(-1) * lib.tensor([1.0, -1.0], dtype=lib.float64), dense_dim=1)


OPERATIONS = {
    "itself": lambda t, c: c,
    "coo": lambda t, c: c.to_sparse(),
    "to_dense": lambda t, c: c.to_dense(),
    "sin": lambda t, c: c.sin(),
    "neg": lambda t, c: -c,
    "mul": lambda t, c: c * 2,
    "add": lambda t, c: c + c,
    "add_alpha": lambda t, c: t.add(c, c, alpha=3),
    "first": lambda t, c: c[0],
    "select_row": lambda t, c: c.select(1, 0),
    "mT": lambda t, c: c.mT,
    "transpose_of_two_kinds": lambda t, c: c.transpose(0, 1),
    "sum": lambda t, c: c.sum(),
    "clone": lambda t, c: c.clone(),
    "float": lambda t, c: c.float(),
    "zeros_like": lambda t, c: t.zeros_like(c),
    "ones_like": lambda t, c: t.ones_like(c),
    "full_like": lambda t, c: t.full_like(c, 3),
    "fill_": lambda t, c: c.clone().fill_(5),
    "zero_": lambda t, c: c.clone().zero_(),
    "copy_": lambda t, c: (c * 2).copy_(c),
    "relu_": lambda t, c: (-c).relu_(),
    "isnan": lambda t, c: t.isnan(c),
    "sparse_mask": lambda t, c: (dense(t) + 1).sparse_mask(c),
    "resize_as_sparse_": lambda t, c: c.clone().resize_as_sparse_(c),
    "one_matrix_times_dense": lambda t, c: c[0].to_sparse_csr() @ t.ones(4, 2, dtype=t.float64) if "bs" not in str(c.layout) else c[0],
    "to_sparse_of_another_number": lambda t, c: c.to_sparse(1),
    "dense_dim_of_sparse": lambda t, c: c.to_sparse(layout=t.sparse_coo, dense_dim=1),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_batches(name, layout):
    def run(lib):
        return OPERATIONS[name](lib, batch(lib, layout))

    assert outcome(run, ut) == outcome(run, torch)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["itself", "coo", "to_dense", "sin", "mul", "mT", "clone", "zeros_like", "select_dense", "two_batches"])
def test_dense_dimensions(name, layout):
    own = {
        "select_dense": lambda t, c: c.select(3, 1),
        "two_batches": lambda t, c: batch(t, layout, t.stack([dense(t)] * 3)).transpose(0, 1),
    }
    function = own.get(name) or OPERATIONS[name]
    assert outcome(lambda lib: function(lib, hybrid(lib, layout)), ut) == outcome(lambda lib: function(lib, hybrid(lib, layout)), torch)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["itself", "to_dense", "mul", "neg", "clone", "sum", "coo"])
def test_gradients_of_batches(name, layout):
    def run(lib):
        c = batch(lib, layout).requires_grad_()
        out = OPERATIONS[name](lib, c)
        plain = out.to_dense() if out.layout is not lib.strided else out
        weights = lib.tensor(np.cos(np.arange(plain.numel())).reshape(tuple(plain.shape)))
        return lib.autograd.grad((plain * weights).sum(), c)[0]

    theirs = outcome(run, torch)
    ours = outcome(run, ut)
    assert ours != "RuntimeError"
    if theirs != "RuntimeError":  # torch lacks some of them
        assert ours[:4] == theirs[:4]


def test_batches_travel_in_files():
    for layout in LAYOUTS:
        for writer, reader in ((ut, torch), (torch, ut), (ut, ut)):
            file = io.BytesIO()
            writer.save(batch(writer, layout), file)
            file.seek(0)
            assert parts(reader.load(file, weights_only=True)) == parts(batch(torch, layout))


FACTORIES = {
    "zeros": lambda t, layout: t.zeros(3, 4, layout=layout),
    "zeros_3d": lambda t, layout: t.zeros(2, 3, 4, layout=layout, dtype=t.float64),
    "zeros_1d": lambda t, layout: t.zeros(3, layout=layout),
    "empty": lambda t, layout: t.empty(3, 4, layout=layout),
    "empty_0d": lambda t, layout: t.empty((), layout=layout),
    "zeros_like": lambda t, layout: t.zeros_like(t.ones(3, 4), layout=layout),
    "zeros_like_coo": lambda t, layout: t.zeros_like(t.eye(3).to_sparse(), layout=layout),
    "zeros_like_csr": lambda t, layout: t.zeros_like(t.eye(3).to_sparse_csr(), layout=layout),
    "empty_like": lambda t, layout: t.empty_like(t.ones(3, 4), layout=layout),
    "empty_like_coo": lambda t, layout: t.empty_like(t.eye(3).to_sparse(), layout=layout),
    "ones_like_csr": lambda t, layout: t.ones_like(t.eye(3).to_sparse_csr(), layout=layout),
    "new_zeros": lambda t, layout: t.ones(2).new_zeros((3, 4), layout=layout),
    "new_empty_of_coo": lambda t, layout: t.eye(3).to_sparse().new_empty((3, 4), layout=layout),
    "new_zeros_of_csr": lambda t, layout: t.eye(3).to_sparse_csr().new_zeros((3, 4), layout=layout),
    "scalar_tensor": lambda t, layout: t.scalar_tensor(3.0, layout=layout),
    "arange": lambda t, layout: t.arange(3, layout=layout) if layout is not t.strided else t.zeros(1),
    "rand": lambda t, layout: t.rand(3, 4, layout=layout) if layout is not t.strided else t.zeros(1),
}


@pytest.mark.parametrize("layout", ["strided", "sparse_coo", *LAYOUTS])
@pytest.mark.parametrize("name", FACTORIES)
def test_factories(name, layout):
    def run(lib):
        made = FACTORIES[name](lib, getattr(lib, layout))
        return made.zero_() if "empty" in name else made  # torch leaves even the indices of empty compressed tensors uninitialized

    assert outcome(run, ut) == outcome(run, torch)


def leaf(lib, layout):
    d = np.array([[0, 1.5, 0], [2.0, 0, -1.0]])
    if "bs" in layout:
        return lib.tensor(np.kron(d, np.array([[1.0, 0], [2, 3]]))).to_sparse(layout=getattr(lib, layout), blocksize=(2, 2)).requires_grad_()
    return lib.tensor(d).to_sparse(layout=getattr(lib, layout)).requires_grad_()


def wrong(lib):
    class Wrong(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a.to_dense() * 2

        @staticmethod
        def backward(ctx, g):
            return (g * 3).sparse_mask(ctx.saved_tensors[0])

    return Wrong.apply


CHECKED = {
    "to_dense": lambda t, a: a.to_dense(),
    "to_dense_unmasked": lambda t, a: a.to_dense(masked_grad=False),
    "sum": lambda t, a: a.sum(),
    "mul": lambda t, a: (a * 2).to_dense(masked_grad=False),
    "wrong": lambda t, a: wrong(t)(a),
    "sparse_output": lambda t, a: a * 2,
    "mm_of_coo": lambda t, a: t.sparse.mm(a, t.ones(a.shape[1], 2, dtype=t.float64)) if a.layout is t.sparse_coo else a.sum(),
}


@pytest.mark.parametrize("masked", [True, False, None])
@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("name", CHECKED)
def test_gradcheck_of_sparse_inputs(name, fast_mode, masked):
    def run(lib, layout, check):
        try:
            return check(lambda a: CHECKED[name](lib, a), leaf(lib, layout), masked=masked, fast_mode=fast_mode)
        except (RuntimeError, ValueError) as error:
            return type(error).__name__, str(error)[:40]

    for layout in ("sparse_coo", *LAYOUTS):
        assert run(ut, layout, ut.autograd.gradcheck) == run(torch, layout, torch.autograd.gradcheck)
        if masked is not None:
            ours, theirs = (lib.sparse.as_sparse_gradcheck(lib.autograd.gradcheck) for lib in (ut, torch))
            assert run(ut, layout, ours) == run(torch, layout, theirs)
