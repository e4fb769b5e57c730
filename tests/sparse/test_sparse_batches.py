"""Compressed tensors with batch dimensions: every matrix of a batch has its own indices and equally many values."""

from __future__ import annotations

import pickle

import pytest

import undertow as ut

LAYOUTS = ["sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"]


def dense() -> ut.Tensor:
    d = ut.zeros(2, 3, 4, dtype=ut.float64)
    d[0, 0, 1], d[0, 2, 3], d[1, 1, 0], d[1, 1, 2] = 1.0, 2.0, 3.0, 4.0
    return d


def batch(layout: str, d: ut.Tensor | None = None, **options: int) -> ut.Tensor:
    blocks = {"blocksize": (1, 2)} if "bs" in layout else {}
    return (dense() if d is None else d).to_sparse(layout=getattr(ut, layout), **blocks, **options)


def test_each_matrix_has_its_own_indices():
    t = batch("sparse_csr")
    assert t.crow_indices().tolist() == [[0, 1, 1, 2], [0, 0, 2, 2]] and t.col_indices().tolist() == [[1, 3], [0, 2]]
    assert t.values().tolist() == [[1.0, 2.0], [3.0, 4.0]] and (t._nnz(), t.sparse_dim(), t.dense_dim(), t.dim()) == (2, 2, 0, 3)
    again = ut.sparse_csr_tensor(t.crow_indices(), t.col_indices(), t.values(), (2, 3, 4))
    assert ut.equal(again.to_dense(), dense())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_conversions_and_copies(layout: str):
    t = batch(layout)
    assert ut.equal(t.to_dense(), dense()) and ut.equal(t.to_sparse().to_dense(), dense()) and t.to_sparse().sparse_dim() == 3
    assert ut.equal(pickle.loads(pickle.dumps(t)).to_dense(), dense())
    assert ut.equal(t[1].to_dense(), dense()[1]) and t[1].layout is t.layout
    assert [ut.equal(part.to_dense(), whole) for part, whole in zip(t, dense(), strict=True)] == [True, True]
    assert ut.equal(t.mT.to_dense(), dense().mT) and t.mT.layout is not t.layout
    assert ut.equal(t.clone().to_dense(), dense()) and t.to(ut.float32).dtype is ut.float32
    assert ut.equal(dense().sparse_mask(t).to_dense(), dense())
    other = {"sparse_csr": t.to_sparse_csc, "sparse_csc": t.to_sparse_csr, "sparse_bsr": lambda: t.to_sparse_bsc((1, 2)), "sparse_bsc": lambda: t.to_sparse_bsr((1, 2))}
    assert ut.equal(other[layout]().to_dense(), dense())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_operators(layout: str):
    t, d = batch(layout), dense()
    for function in (lambda x: x * 2, lambda x: -x, ut.sin, lambda x: x + x, lambda x: x * x, lambda x: x / 2, lambda x: x.abs().sqrt()):
        found = function(t)
        assert found.layout is t.layout and ut.allclose(found.to_dense(), function(d))
    assert t.sum() == d.sum() and ut.allclose(d + t, d + d) and ut.allclose(t + d, d + d)
    assert ut.allclose(ut.bmm(t, ut.ones(2, 4, 2, dtype=ut.float64)), d @ ut.ones(2, 4, 2, dtype=ut.float64))
    changed = t.clone().mul_(3).neg_()
    assert ut.equal(changed.to_dense(), d * -3) and ut.equal(t.to_dense(), d)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_have_the_layout_and_the_indices(layout: str):
    weights = ut.arange(24.0, dtype=ut.float64).reshape(2, 3, 4)
    def through_coo(x):
        return x if x.layout is ut.strided else x.to_sparse()

    for function in (lambda x: x, ut.sin, lambda x: x * 3, lambda x: x.mT.mT, lambda x: x + x, through_coo):
        t = batch(layout).requires_grad_()
        (g,) = ut.autograd.grad((function(t).to_dense() * weights).sum(), t)
        d = dense().requires_grad_()
        (expected,) = ut.autograd.grad((function(d) * weights).sum(), d)
        assert g.layout is t.layout and g.values().shape == t.values().shape
        mask = ut.ones_like(t.detach()).to_dense()
        assert ut.allclose(g.to_dense(), expected * mask)
    t = batch(layout).requires_grad_()
    (g,) = ut.autograd.grad((t[1].to_dense() * weights[1]).sum(), t)
    assert not g.to_dense()[0].any() and g.to_dense()[1].any()


def test_dense_dimensions_follow_the_matrix():
    d = dense().unsqueeze(-1) * ut.tensor([1.0, -1.0], dtype=ut.float64)
    for layout in LAYOUTS:
        t = batch(layout, d, dense_dim=1)
        assert (t.dense_dim(), t.sparse_dim(), t.dim()) == (1, 2, 4) and ut.equal(t.to_dense(), d)
        assert ut.equal(t.transpose(1, 2).to_dense(), d.transpose(1, 2)) and ut.equal(t.select(3, 1).to_dense(), d.select(3, 1))
        assert ut.equal((t * 2).to_dense(), d * 2)
    with pytest.raises(RuntimeError, match="same type .Batch, Sparse, Dense."):
        batch("sparse_csr", d, dense_dim=1).transpose(0, 3)


def test_two_batch_dimensions():
    d = ut.stack([dense(), dense().flip(0), dense()])
    t = batch("sparse_csr", d)
    assert t.crow_indices().shape == (3, 2, 4) and ut.equal(t.to_dense(), d)
    assert ut.equal(t.transpose(0, 1).to_dense(), d.transpose(0, 1)) and ut.equal(t[2, 1].to_dense(), d[2, 1])
    picked = ut.sparse.sampled_addmm(t, ut.ones(3, 2, 3, 5, dtype=ut.float64), ut.ones(3, 2, 5, 4, dtype=ut.float64), beta=0.5)
    assert ut.allclose(picked.to_dense(), (d * 0.5 + 5) * (d != 0))


def test_what_a_batch_cannot_be_raises():
    d = dense()
    d[0, 1, 1] = 9
    for layout in LAYOUTS:
        with pytest.raises(RuntimeError, match="the same number of specified elements per batch"):
            batch(layout, d)
    with pytest.raises(RuntimeError, match="selecting sparse dimensions is not supported for batched"):
        batch("sparse_csr").select(1, 0)
    with pytest.raises(RuntimeError, match="for batched inputs is not supported"):
        batch("sparse_csr").to_sparse_bsr((1, 2))
    with pytest.raises(RuntimeError, match=r"got 0\(Batch\) and 1\(Sparse\)"):
        batch("sparse_csc").transpose(0, 1)
    with pytest.raises(RuntimeError, match="dense_dim argument given"):
        batch("sparse_csr").to_sparse_csc(dense_dim=1)
