"""What the parts of compressed tensors must satisfy: checked on creation, because operators rely on it."""

from __future__ import annotations

import pytest

import undertow as ut

CSR = {"c": [0, 1, 3], "p": [1, 0, 2], "v": [1.0, 2.0, 3.0], "size": (2, 3), "layout": "sparse_csr"}
BATCH = {"c": [[0, 1, 2], [0, 0, 2]], "p": [[0, 1], [0, 1]], "v": [[1.0, 2.0], [3.0, 4.0]], "size": (2, 2, 2), "layout": "sparse_csr"}
BSR = {"c": [0, 1], "p": [0], "v": [[[1.0, 2.0], [3.0, 4.0]]], "size": (2, 2), "layout": "sparse_bsr"}


def make(parts, **changes):
    p = {**parts, **changes}
    options = {"check_invariants": p["check"]} if "check" in p else {}
    return ut.sparse_compressed_tensor(ut.tensor(p["c"]), ut.tensor(p["p"]), ut.tensor(p["v"]), p["size"], layout=getattr(ut, p["layout"]), **options)


WRONG = {
    "first bound": (CSR, {"c": [1, 1, 3]}, r"crow_indices\[..., 0\] == 0"),
    "last bound": (CSR, {"c": [0, 1, 2]}, r"crow_indices\[..., -1\] == nnz"),
    "falling bounds": (CSR, {"c": [0, 4, 3]}, "<= ncols"),
    "column too large": (CSR, {"p": [1, 0, 3]}, "0 <= col_indices < ncols"),
    "negative column": (CSR, {"p": [-1, 0, 2]}, "0 <= col_indices < ncols"),
    "too many bounds": (CSR, {"c": [0, 1, 3, 3]}, r"number of rows \+ 1 \(3\), but got 4"),
    "fewer columns than values": (CSR, {"p": [1, 0]}, "must be equal to nnz"),
    "one dimension": (CSR, {"size": (2,)}, "tensor dimensionality must be sum"),
    "three dimensions": (CSR, {"size": (2, 2, 3)}, "tensor dimensionality must be sum"),
    "a number as bounds": (CSR, {"c": 0}, "crow_indices must have dimensionality >= 1"),
    "a number as values": (CSR, {"v": 1.0}, "values must have dimensionality >"),
    "bounds that are floats": (CSR, {"c": [0.0, 1.0, 3.0]}, "dtype must be Int or Long"),
    "batches of the parts": (BATCH, {"p": [[0, 1]]}, "all batch dimensions"),
    "batches of the size": (BATCH, {"size": (3, 2, 2)}, "all batch dimensions"),
    "bounds with a batch, columns without": (BATCH, {"p": [0, 1], "v": [1.0, 2.0]}, "dimensionalities must be equal"),
    "dense dimensions": (CSR, {"v": [[1.0]] * 3, "size": (2, 3, 2)}, "dense dimensions"),
    "a size that blocks do not divide": (BSR, {"size": (3, 2)}, "must be divisible with blocksize"),
    "values without blocks": (BSR, {"v": [1.0]}, "block dimensionalities"),
}


@pytest.mark.parametrize("name", WRONG)
def test_parts_that_do_not_fit_raise(name):
    parts, changes, message = WRONG[name]
    assert make(parts).shape == parts["size"]
    with pytest.raises(RuntimeError, match=message):
        make(parts, **changes)


def test_order_within_a_row_is_checked_on_request():
    for wrong in ([1, 2, 0], [1, 2, 2]):
        assert make(CSR, p=wrong)._nnz() == 3
        with pytest.raises(RuntimeError, match="sorted and distinct"):
            make(CSR, p=wrong, check=True)
        with ut.sparse.check_sparse_tensor_invariants(), pytest.raises(RuntimeError, match="sorted and distinct"):
            make(CSR, p=wrong)
    with pytest.raises(RuntimeError, match="sorted and distinct"):
        make(BATCH, p=[[0, 1], [1, 0]], check=True)
    assert make(BATCH, check=True)._nnz() == 2


def test_other_functions_of_sparse_matrices():
    A = ut.tensor([[2.0, 0.0, 0.0], [1.0, 3.0, 0.0], [0.0, 4.0, 5.0]], dtype=ut.float64)
    b = ut.arange(3.0, dtype=ut.float64).reshape(3, 1)
    for layout in (ut.sparse_coo, ut.sparse_csr):
        s = A.to_sparse(layout=layout).requires_grad_()
        assert ut.allclose(ut.sparse.spsolve(s, b), ut.linalg.solve(A, b))
        assert ut.allclose(ut.triangular_solve(b, s, upper=False)[0], ut.linalg.solve_triangular(A, b, upper=False))
        (g,) = ut.autograd.grad(ut.sparse.spsolve(s, b).sum(), s)
        assert g.layout is layout and g._nnz() == s._nnz()
        assert ut.allclose(ut.pca_lowrank(s.detach(), q=2)[1], ut.pca_lowrank(A, q=2)[1])
        assert ut.equal(ut.nn.functional.embedding(ut.tensor([2, 0]), s.detach()).to_dense(), A[[2, 0]])
    assert ut.equal(A.to_sparse().to_sparse(layout=ut.strided), A) and A[:2, :2].to_sparse_bsr(2).values().shape == (1, 2, 2)
    assert ut.equal(ut.hsmm(A.to_sparse(), A).to_dense(), A @ A) and ut.equal(ut.saddmm(A.to_sparse(), A.to_sparse(), A).to_dense(), A @ A + A)
