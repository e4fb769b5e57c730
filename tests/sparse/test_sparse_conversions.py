"""Conversions between sparse layouts: dtypes of indices, bools with dense dimensions, the strided layout."""

from __future__ import annotations

import pytest

import undertow as ut

MATRIX = ut.tensor([[1.0, 0, 2, 0], [0, 3, 0, 0], [0, 0, 0, 4], [5, 0, 0, 0]])
LAYOUTS = [ut.sparse_csr, ut.sparse_csc, ut.sparse_bsr, ut.sparse_bsc]


def converted(t, layout):
    return t.to_sparse(layout=layout, blocksize=(2, 2) if layout in (ut.sparse_bsr, ut.sparse_bsc) else None)


def parts(t):
    by_rows = t.layout in (ut.sparse_csr, ut.sparse_bsr)
    return (t.crow_indices(), t.col_indices()) if by_rows else (t.ccol_indices(), t.row_indices())


@pytest.mark.parametrize("dtype", [ut.int32, ut.int64])
@pytest.mark.parametrize("target", LAYOUTS, ids=str)
@pytest.mark.parametrize("source", LAYOUTS, ids=str)
def test_a_compressed_layout_keeps_the_dtype_of_its_indices(source, target, dtype):
    first = converted(MATRIX, source)
    compressed, plain = parts(first)
    assert compressed.dtype == ut.int64  # of a strided tensor
    narrow = ut.sparse_compressed_tensor(compressed.to(dtype), plain.to(dtype), first.values(), first.shape, layout=source)
    result = converted(narrow, target)
    assert [x.dtype for x in parts(result)] == [dtype, dtype]
    assert (result.to_dense() == MATRIX).all()
    assert result.to_sparse()._indices().dtype == ut.int64


def test_the_gradient_of_a_conversion_keeps_the_dtype_of_the_indices():
    x = converted(MATRIX, ut.sparse_csr)
    x = ut.sparse_csr_tensor(x.crow_indices().int(), x.col_indices().int(), x.values(), x.shape, requires_grad=True)
    converted(x, ut.sparse_csc).to_dense().sum().backward()
    assert x.grad.layout is ut.sparse_csr and x.grad.col_indices().dtype == ut.int32


def test_a_bool_tensor_with_dense_dimensions_becomes_strided():
    x = (MATRIX != 0).to_sparse(1)
    assert (x.to_dense() == (MATRIX != 0)).all()
    twice = ut.sparse_coo_tensor([[1, 1]], [[True, False], [False, False]], (2, 2))
    assert twice.to_dense().tolist() == [[False, False], [True, False]]


def test_a_strided_tensor_is_its_own_strided_form():
    assert MATRIX.to_sparse(layout=ut.strided) is MATRIX
