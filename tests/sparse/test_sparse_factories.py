"""Functions that create tensors: with layout= a sparse layout, and from sparse tensors."""

from __future__ import annotations

import pytest

import undertow as ut

COMPRESSED = ["sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"]


def compressed(layout: str) -> ut.Tensor:
    blocks = {"blocksize": (2, 2)} if "bs" in layout else {}
    return ut.eye(4).to_sparse(layout=getattr(ut, layout), **blocks)


@pytest.mark.parametrize("name", ["zeros", "empty"])
def test_zeros_of_a_sparse_layout_take_no_memory_for_elements(name: str):
    t = getattr(ut, name)(10**6, 10**6, layout=ut.sparse_coo, dtype=ut.float64, requires_grad=True)
    assert (t.layout, t.dtype, t.shape, t._nnz(), t.sparse_dim(), t.requires_grad) == (ut.sparse_coo, ut.float64, (10**6, 10**6), 0, 2, True)
    t = getattr(ut, name)((2, 3, 4), layout=ut.sparse_csr)
    assert (t.layout, t.shape, t.crow_indices().shape, t.col_indices().shape, t.values().shape) == (ut.sparse_csr, (2, 3, 4), (2, 4), (2, 0), (2, 0))
    assert getattr(ut, name)(3, 4, layout=ut.sparse_csc).ccol_indices().tolist() == [0] * 5
    assert getattr(ut, name)((), layout=ut.sparse_coo).shape == ()


def test_layouts_that_cannot_be_created_raise():
    with pytest.raises(RuntimeError, match="Only batched sparse compressed"):
        ut.zeros(4, layout=ut.sparse_csr)
    with pytest.raises(RuntimeError, match="expected sparse compressed .non-block. tensor layout but got SparseBsr"):
        ut.empty(4, 4, layout=ut.sparse_bsr)
    with pytest.raises(RuntimeError, match="negative dimension"):
        ut.zeros(-1, 2, layout=ut.sparse_coo)
    for call in (lambda: ut.ones(2, layout=ut.sparse_coo), lambda: ut.rand(2, 2, layout=ut.sparse_csr), lambda: ut.eye(2).new_ones(2, layout=ut.sparse_coo)):
        with pytest.raises(NotImplementedError):
            call()


def test_zeros_like_has_the_layout_asked_for():
    dense, coo = ut.eye(3), ut.eye(3).to_sparse()
    for t in (dense, coo, coo.to_sparse_csr()):
        for layout in (ut.sparse_coo, ut.sparse_csr, ut.sparse_csc):
            z = ut.zeros_like(t, layout=layout, dtype=ut.float64)
            assert (z.layout, z.dtype, z._nnz()) == (layout, ut.float64, 0)
    assert ut.zeros_like(coo, layout=ut.strided).tolist() == [[0.0] * 3] * 3
    assert ut.ones_like(coo, layout=ut.strided).tolist() == [[1.0] * 3] * 3
    assert ut.full_like(coo, 2, layout=ut.strided, dtype=ut.int64).tolist() == [[2] * 3] * 3
    with pytest.raises(RuntimeError, match="different sparse layout"):
        ut.empty_like(coo.to_sparse_csr(), layout=ut.strided)


def test_new_zeros_has_the_layout_of_its_tensor():
    coo = ut.eye(3, dtype=ut.float64).to_sparse()
    for t, layout in ((coo, ut.sparse_coo), (coo.to_sparse_csr(), ut.sparse_csr)):
        z = t.new_zeros(2, 5)
        assert (z.layout, z.shape, z.dtype, z._nnz()) == (layout, (2, 5), ut.float64, 0)
        assert t.new_empty(2, 5, dtype=ut.int32).dtype is ut.int32
        assert t.new_zeros((2, 5), layout=ut.strided).tolist() == [[0.0] * 5] * 2
        with pytest.raises(NotImplementedError, match="fill_"):
            t.new_full((2, 2), 3)
    assert ut.ones(2).new_zeros(2, 2, layout=ut.sparse_csr).layout is ut.sparse_csr


@pytest.mark.parametrize("layout", COMPRESSED)
def test_a_compressed_tensor_is_the_pattern_of_what_is_created_from_it(layout: str):
    t = compressed(layout)
    pattern = ut.ones_like(t)
    assert pattern.layout is t.layout and (pattern.values() == 1).all() and pattern._nnz() == t._nnz()
    assert (ut.full_like(t, 7, dtype=ut.int64).values() == 7).all()
    assert ut.empty_like(t).values().shape == t.values().shape
    zero = ut.zeros_like(t)
    assert zero.layout is t.layout and zero._nnz() == 0 and zero.values().shape[1:] == t.values().shape[1:] and not zero.to_dense().any()
    changed = t.clone().fill_(3)
    assert (changed.values() == 3).all() and changed._nnz() == t._nnz()
    assert t.clone().zero_()._nnz() == 0 and ut.equal(t.to_dense(), ut.eye(4))


def test_a_coo_tensor_cannot_be_filled():
    for call in (ut.ones_like, lambda t: ut.full_like(t, 2), lambda t: t.fill_(1)):
        with pytest.raises(NotImplementedError, match="fill_"):
            call(ut.eye(2).to_sparse())
