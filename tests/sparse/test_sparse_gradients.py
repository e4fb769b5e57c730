"""Gradients that are sparse: of embeddings and gather, in the engine's sums, in hooks, and in optimizers."""

from __future__ import annotations

import numpy as np
import pytest

import undertow as ut
from undertow.nn import functional as F


def table():
    return ut.arange(10.0).reshape(5, 2).requires_grad_()


def test_an_embeddings_gradient_has_a_row_for_each_index():
    w = table()
    F.embedding(ut.tensor([[1, 3], [1, 0]]), w, sparse=True).sum().backward()
    assert w.grad.layout is ut.sparse_coo and not w.grad.is_coalesced() and w.grad._nnz() == 4
    assert w.grad._indices().tolist() == [[1, 3, 1, 0]]
    assert w.grad.to_dense().tolist() == [[1.0, 1.0], [2.0, 2.0], [0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]


def test_rows_of_the_padding_index_are_left_out():
    layer = ut.nn.Embedding(5, 2, padding_idx=1, sparse=True)
    layer(ut.tensor([1, 3, 1])).sum().backward()
    assert layer.weight.grad._indices().tolist() == [[3]]
    layer.weight.grad = None
    layer(ut.tensor([1])).sum().backward()
    assert layer.weight.grad._nnz() == 0


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_bags(mode):
    found = []
    for sparse in (False, True):
        layer = ut.nn.EmbeddingBag(5, 2, mode=mode, sparse=sparse, _weight=table().detach())
        (layer(ut.tensor([1, 3, 1, 0]), ut.tensor([0, 3])) ** 2).sum().backward()
        assert layer.weight.grad.is_sparse == sparse
        found.append(layer.weight.grad.to_dense().numpy())
    np.testing.assert_allclose(*found)
    with pytest.raises(RuntimeError, match="scale_grad_by_freq not supported with sparse gradients"):
        F.embedding(ut.tensor([1]), table(), scale_grad_by_freq=True, sparse=True).sum().backward()


@pytest.mark.parametrize("dim", [0, 1])
def test_gather(dim):
    x = ut.arange(6.0).reshape(2, 3).requires_grad_()
    index = ut.tensor([[0, 1], [1, 0]])
    (x.gather(dim, index, sparse_grad=True) ** 2).sum().backward()
    (expected,) = ut.autograd.grad((x.gather(dim, index) ** 2).sum(), x)
    assert x.grad.is_sparse and x.grad.to_dense().equal(expected)


@pytest.mark.parametrize("kinds", ["ss", "sd", "ds", "ssd", "dss", "sds"])
@pytest.mark.parametrize("workers", [1, 2])
def test_sparse_and_dense_gradients_add_up(kinds, workers):
    index = ut.tensor([0, 2, 0])
    expected = ut.zeros(5, 2).index_add_(0, index, ut.full((3, 2), float(len(kinds))))
    w = table()
    for kind in kinds:
        F.embedding(index, w, sparse=kind == "s").sum().backward()
    assert w.grad.is_sparse == ("d" not in kinds) and w.grad.to_dense().equal(expected)
    w.grad = None
    ut.autograd.set_num_workers(workers)
    try:
        sum(F.embedding(index, w, sparse=kind == "s").sum() for kind in kinds).backward()
    finally:
        ut.autograd.set_num_workers(1)
    assert w.grad.is_sparse == ("d" not in kinds) and w.grad.to_dense().equal(expected)


def test_a_dense_gradient_is_written_in_place_and_a_sparse_one_is_not_shared():
    w = table()
    w.grad = ut.zeros(5, 2)
    held = w.grad
    F.embedding(ut.tensor([1]), w, sparse=True).sum().backward()
    assert w.grad is held and held[1].tolist() == [1.0, 1.0]
    given = []
    w.grad = None
    w.register_hook(given.append)
    F.embedding(ut.tensor([1]), w, sparse=True).sum().backward()
    w.grad.mul_(5)
    assert given[0].to_dense()[1].tolist() == [1.0, 1.0]


def test_grad_and_hooks_get_sparse_gradients():
    w = table()
    out = F.embedding(ut.tensor([1, 1]), w, sparse=True).sum()
    assert ut.autograd.grad(out, w, retain_graph=True)[0].is_sparse
    w.register_hook(lambda g: g * 2)
    out.backward()
    assert w.grad.is_sparse and w.grad.to_dense()[1].tolist() == [4.0, 4.0]


def test_a_pass_that_records_gives_second_derivatives():
    w = table()
    out = (F.embedding(ut.tensor([1, 1, 3]), w, sparse=True) ** 3).sum()
    (g,) = ut.autograd.grad(out, w, create_graph=True)
    assert g.is_sparse and g.requires_grad
    (h,) = ut.autograd.grad((g.to_dense() ** 2).sum(), w)
    x = table()
    (gx,) = ut.autograd.grad((F.embedding(ut.tensor([1, 1, 3]), x) ** 3).sum(), x, create_graph=True)
    (hx,) = ut.autograd.grad((gx**2).sum(), x)
    np.testing.assert_allclose((h.to_dense() if h.is_sparse else h).numpy(), hx.numpy())


def test_anomaly_mode_reads_sparse_gradients():
    w = table()
    with ut.autograd.set_detect_anomaly(True):
        F.embedding(ut.tensor([1]), w, sparse=True).sum().backward()
        with pytest.raises(RuntimeError, match="nan"):
            (F.embedding(ut.tensor([0]), w, sparse=True) * ut.tensor(float("nan"))).sum().backward()


@pytest.mark.parametrize("make", [
    lambda p: ut.optim.SGD(p, lr=0.1), lambda p: ut.optim.SGD(p, lr=0.1, momentum=0.9), lambda p: ut.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    lambda p: ut.optim.Adagrad(p, lr=0.1),
])
def test_optimizers_move_the_same_as_with_dense_gradients(make):
    found = []
    for sparse in (False, True):
        w = table()
        optimizer = make([w])
        for _ in range(4):
            optimizer.zero_grad()
            (F.embedding(ut.tensor([1, 3, 1]), w, sparse=sparse) ** 2).sum().backward()
            optimizer.step()
        found.append(w.detach().numpy())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)


def test_sparse_adam_follows_its_formula():
    w = table()
    optimizer = ut.optim.SparseAdam([w], lr=0.1, betas=(0.8, 0.9), eps=1e-6)
    x, m, v = w.detach().numpy().astype("float64"), np.zeros((5, 2)), np.zeros((5, 2))
    for step, rows in enumerate(([1, 3, 1], [0], [3, 0]), 1):
        optimizer.zero_grad()
        (F.embedding(ut.tensor(rows), w, sparse=True) ** 2).sum().backward()
        optimizer.step()
        g = np.zeros((5, 2))
        np.add.at(g, rows, 2 * x[rows])
        at = sorted(set(rows))
        m[at] += 0.2 * (g[at] - m[at])
        v[at] += 0.1 * (g[at] ** 2 - v[at])
        x[at] -= 0.1 * np.sqrt(1 - 0.9**step) / (1 - 0.8**step) * m[at] / (np.sqrt(v[at]) + 1e-6)
        np.testing.assert_allclose(w.detach().numpy(), x, rtol=1e-4)
    state = optimizer.state_dict()
    assert state["state"][0]["step"] == 3


def test_other_optimizers_raise():
    w = table()
    F.embedding(ut.tensor([1]), w, sparse=True).sum().backward()
    for name, says in (("Adam", "Adam does not support sparse gradients, please consider SparseAdam instead"), ("RMSprop", "RMSprop does not support sparse gradients")):
        with pytest.raises(RuntimeError, match=says):
            getattr(ut.optim, name)([w]).step()
    w.grad = w.grad.to_dense()
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients, please consider Adam instead"):
        ut.optim.SparseAdam([w]).step()


def test_zero_grad_and_clipping():
    w = table()
    optimizer = ut.optim.SGD([w], lr=0.1)
    F.embedding(ut.tensor([1, 1]), w, sparse=True).sum().backward()
    norm = ut.nn.utils.clip_grad_norm_([w], 1.0)
    assert norm.item() == pytest.approx(8**0.5) and w.grad.norm().item() == pytest.approx(1, rel=1e-4)
    optimizer.zero_grad(set_to_none=False)
    assert w.grad.is_sparse and w.grad._nnz() == 0
    F.embedding(ut.tensor([1, 1]), w, sparse=True).sum().backward()
    assert w.grad.to_dense()[1].tolist() == [2.0, 2.0]


@pytest.mark.parametrize(("sizes", "index"), [((), [0, 0]), ((), 0), ((4,), 2)])
def test_gather_gives_sparse_gradients_without_dimensions(sizes, index):
    x = ut.ones(sizes, requires_grad=True)
    grads = []
    for sparse in (False, True):
        x.grad = None
        out = x.gather(0, ut.tensor(index), sparse_grad=sparse)
        out.backward(ut.full_like(out, 3.0))
        grads.append(x.grad.to_dense() if sparse else x.grad)
        assert x.grad.is_sparse == sparse
    assert grads[0].tolist() == grads[1].tolist()
