"""Row gradients of undertow.train and sparse tensors are two forms of one thing."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow.train import IndexedSlices

ROWS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


def test_slices_become_sparse_tensors_and_return():
    slices = IndexedSlices(ut.tensor(ROWS), ut.tensor([2, 0, 2]), (4, 2))
    sparse = slices.to_sparse()
    assert sparse.layout is ut.sparse_coo and sparse.sparse_dim() == 1 and sparse.to_dense().equal(slices.to_dense())
    back = IndexedSlices.from_sparse(sparse)
    assert back.indices.tolist() == [0, 2] and back.dense_shape == (4, 2) and back.to_dense().equal(slices.to_dense())
    with pytest.raises(ValueError, match="one sparse dimension"):
        IndexedSlices.from_sparse(ut.eye(2).to_sparse())
    with pytest.raises(ValueError, match="without known dense_shape"):
        IndexedSlices(ut.tensor(ROWS), ut.tensor([2, 0, 2])).to_sparse()


@pytest.mark.parametrize("hooked", [False, True])
def test_a_sparse_embedding_has_a_gradient_of_rows(hooked):
    w = ut.ones(4, 2, requires_grad=True)
    if hooked:
        w.register_hook(lambda g: g * 1)  # then the pass captures the whole gradient, which is a sparse tensor
    (g,) = ut.train.gradients(ut.nn.functional.embedding(ut.tensor([1, 3, 1]), w, sparse=True).sum(), [w])
    assert isinstance(g, IndexedSlices)
    assert g.to_dense().tolist() == [[0.0, 0.0], [2.0, 2.0], [0.0, 0.0], [1.0, 1.0]]


@pytest.mark.parametrize("make", [ut.train.GradientDescentOptimizer, ut.train.AdagradOptimizer])
def test_optimizers_apply_sparse_tensors_as_rows(make):
    found = []
    for form in (IndexedSlices.to_sparse, IndexedSlices.to_dense):
        w = ut.ones(4, 2, requires_grad=True)
        make(0.1).apply_gradients([(form(IndexedSlices(ut.tensor(ROWS), ut.tensor([2, 0, 2]), (4, 2))), w)])
        found.append(w.detach())
    assert found[0].allclose(found[1]) and not found[0].equal(ut.ones(4, 2))
