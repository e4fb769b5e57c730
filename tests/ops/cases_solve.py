"""Cases for linear systems, factorizations and distances; derivatives that need a symmetric input are in tests/test_linalg_derivatives.py."""

from __future__ import annotations

import numpy as np
from samples import Array, Fixed, case

SQUARE, BATCH = Array((3, 3)), Array((2, 3, 3))
TALL, WIDE = Array((4, 3)), Array((3, 4))
POSITIVE = Fixed([[4.0, 1.0, 0.5], [1.0, 3.0, -0.5], [0.5, -0.5, 2.0]], "float64")  # symmetric and positive definite
LOWER = Fixed([[2.0, 0.0, 0.0], [0.5, 1.5, 0.0], [0.3, -0.4, 1.2]], "float64")
# A = P L U of the matrix [[1, 2], [3, 4]].
LU, PIVOTS = Fixed([[3.0, 4.0], [1 / 3, 2 / 3]], "float64"), Fixed([2, 2], "int32")
NUMBER = Fixed(1e-3, "float64")


def _solve(a, b, **_):
    return np.linalg.solve(a, b if b.ndim > 1 else b[:, None]).reshape(np.broadcast_shapes(b.shape))


def _distances(p):
    return lambda x, y, *_: (np.abs(x[..., :, None, :] - y[..., None, :, :]) ** p).sum(-1) ** (1 / p)


CASES = {
    "linalg_lu_factor_ex": [case(SQUARE), case(BATCH), case(TALL), case(WIDE)],
    "linalg_lu_factor": [case(SQUARE), case(TALL)],
    "linalg_lu": [case(SQUARE), case(TALL), case(WIDE)],
    "lu_unpack": [case(LU, PIVOTS)],
    "linalg_lu_solve": [case(LU, PIVOTS, Array((2, 3)), reference=lambda lu, p, b: np.linalg.solve([[1, 2], [3, 4]], b))],
    "lu_solve": [case(Array((2, 3)), LU, PIVOTS, reference=lambda b, lu, p: np.linalg.solve([[1, 2], [3, 4]], b))],
    "linalg_solve_ex": [case(SQUARE, Array((3, 2))), case(BATCH, Array((3, 2)))],
    "linalg_solve": [case(SQUARE, Array((3, 2)), reference=_solve), case(SQUARE, Array((3,)), reference=_solve), case(BATCH, Array((3, 2)))],
    "linalg_solve_triangular": [case(Array((3, 3), away=0.5), Array((3, 2)), upper=True, reference=lambda a, b, upper: np.linalg.solve(np.triu(a), b)),
                                case(Array((3, 3)), Array((2, 3)), upper=False, left=False, unitriangular=True)],
    "triangular_solve": [case(Array((3, 2)), Array((3, 3), away=0.5))],
    "linalg_inv_ex": [case(SQUARE), case(BATCH)],
    "linalg_inv": [case(SQUARE, reference=np.linalg.inv), case(BATCH, reference=np.linalg.inv)],
    "inverse": [case(SQUARE, reference=np.linalg.inv)],
    "linalg_det": [case(SQUARE, reference=np.linalg.det), case(BATCH, reference=np.linalg.det), case(Array((1, 1)), reference=np.linalg.det)],
    "det": [case(SQUARE, reference=np.linalg.det)],
    "linalg_slogdet": [case(SQUARE, reference=np.linalg.slogdet, real_only=True), case(BATCH, real_only=True)],
    "slogdet": [case(SQUARE, reference=np.linalg.slogdet, real_only=True)],
    "logdet": [case(POSITIVE, reference=lambda a: np.linalg.slogdet(a)[1])],
    "linalg_cholesky_ex": [case(POSITIVE, differentiable=False)],
    "linalg_cholesky": [case(POSITIVE, reference=np.linalg.cholesky, differentiable=False)],
    "cholesky": [case(POSITIVE, reference=np.linalg.cholesky, differentiable=False)],
    "cholesky_solve": [case(Array((3, 2)), LOWER, real_only=True, differentiable=False, reference=lambda b, low: np.linalg.solve(low @ low.T, b))],
    "cholesky_inverse": [case(LOWER, reference=lambda low: np.linalg.inv(low @ low.T), differentiable=False)],
    "linalg_tensorinv": [case(Array((6, 2, 3)), ind=1, reference=lambda a, ind: np.linalg.tensorinv(a, ind))],
    "linalg_tensorsolve": [case(Array((2, 3, 6)), Array((2, 3)), reference=np.linalg.tensorsolve)],
    "linalg_diagonal": [case(BATCH, reference=lambda a: np.diagonal(a, axis1=-2, axis2=-1))],
    "linalg_vander": [case(Array((3,)), reference=lambda x: np.vander(x, increasing=True)), case(Array((2, 3)), N=4)],
    "linalg_qr": [case(TALL), case(WIDE), case(BATCH)],
    "qr": [case(TALL)],
    "geqrf": [case(TALL)],
    "linalg_householder_product": [case(TALL, Array((3,)))],
    "orgqr": [case(TALL, Array((3,)))],
    "ormqr": [case(TALL, Array((3,)), Array((4, 2)))],
    "linalg_eigh": [case(POSITIVE, differentiable=False)],
    "linalg_eigvalsh": [case(POSITIVE, reference=np.linalg.eigvalsh, differentiable=False)],
    "linalg_eig": [case(POSITIVE, differentiable=False)],
    "linalg_eigvals": [case(POSITIVE, differentiable=False)],
    "linalg_svd": [case(TALL, full_matrices=False, real_only=True), case(WIDE, full_matrices=False, real_only=True)],
    "linalg_svdvals": [case(TALL, reference=lambda a: np.linalg.svd(a, compute_uv=False)), case(WIDE), case(BATCH)],
    "svd": [case(TALL, real_only=True)],
    "linalg_pinv": [case(TALL, reference=np.linalg.pinv), case(WIDE, reference=np.linalg.pinv)],
    "linalg_pinv.float": [case(TALL, rtol=1e-9, reference=lambda a, rtol: np.linalg.pinv(a, rtol))],
    "linalg_pinv.rcond": [case(TALL, 1e-9, reference=np.linalg.pinv)],
    "linalg_pinv.rcond_tensor": [case(TALL, Fixed(1e-9, "float64"), reference=lambda a, r: np.linalg.pinv(a, float(r)), differentiable=False)],
    "pinverse": [case(TALL, reference=np.linalg.pinv)],
    "linalg_matrix_rank": [case(TALL, reference=np.linalg.matrix_rank)],
    "linalg_matrix_rank.float": [case(TALL, rtol=1e-6, reference=lambda a, rtol: np.linalg.matrix_rank(a))],
    "linalg_matrix_rank.tol": [case(TALL, 1e-6, reference=np.linalg.matrix_rank)],
    "linalg_matrix_rank.tol_tensor": [case(TALL, NUMBER, reference=lambda a, t: np.linalg.matrix_rank(a, float(t)), differentiable=False)],
    "linalg_cond": [case(SQUARE, reference=np.linalg.cond), case(SQUARE, 1, reference=np.linalg.cond)],
    "linalg_cond.str": [case(SQUARE, "fro", reference=np.linalg.cond), case(SQUARE, "nuc", reference=np.linalg.cond)],
    "linalg_lstsq": [case(TALL, Array((4, 2)), differentiable=False)],
    "linalg_matrix_exp": [case(SQUARE), case(BATCH)],
    "matrix_exp": [case(Fixed([[0.0, 1.0], [0.0, 0.0]], "float64"), reference=lambda a: np.eye(2) + a)],
    # distances, and other entries with shapes of their own
    "cdist": [case(Array((3, 2)), Array((4, 2)), real_only=True, reference=_distances(2)), case(Array((3, 2)), Array((4, 2)), 1.5, real_only=True)],
    "pdist": [case(Array((4, 2)), real_only=True), case(Array((4, 2)), 3.0, real_only=True)],
    "igamma": [case(Array((3, 4), 0.5, 3.0), Array((3, 4), 0.5, 3.0), differentiable=False)],
    "igammac": [case(Array((3, 4), 0.5, 3.0), Array((3, 4), 0.5, 3.0), differentiable=False)],
    "as_strided_scatter": [case(SQUARE, Array((2, 2)), [2, 2], [3, 1], 0)],
    "nonzero_static": [case(Fixed([0, 3, 4], "int64"), size=3, reference=lambda x, size: np.array([[1], [2], [-1]]))],
    "repeat_interleave.indices": [case(Fixed([1, 0, 2], "int64"), reference=lambda n: np.repeat(np.arange(3), n.astype("int64")))],
    "repeat_interleave.Tensor": [case(WIDE, Fixed([1, 0, 2], "int64"), 0, reference=lambda x, n, d: np.repeat(x, n.astype("int64"), d))],
    "unsafe_split": [case(WIDE, 2, 1, reference=lambda x, n, d: np.split(x, [2], d))],
    "unsafe_split_with_sizes": [case(WIDE, [1, 3], 1, reference=lambda x, n, d: np.split(x, [1], d))],
    "unsafe_chunk": [case(WIDE, 2, 1, reference=lambda x, n, d: np.split(x, 2, d))],
}

_SINGULAR = "equal rows make a singular matrix"
_TIES = "equal rows make equal singular values, whose vectors are a choice"
EXCEPT = {
    **{name: {"expanded": _SINGULAR} for name in (
        "linalg_lu_factor", "linalg_inv", "inverse", "linalg_solve", "linalg_solve_ex", "linalg_inv_ex", "linalg_lu_factor_ex", "linalg_lu", "linalg_slogdet",
        "slogdet", "linalg_cond", "linalg_cond.str", "linalg_tensorinv", "linalg_tensorsolve")},
    **{name: {"expanded": _TIES} for name in ("linalg_svd", "svd", "linalg_pinv", "linalg_pinv.float", "linalg_pinv.rcond", "pinverse", "linalg_lstsq")},
    **{name: {"threads": "one argument has no derivative"} for name in ("igamma", "igammac")},
    "unsafe_chunk": {"second_derivative": "the pieces share memory"},
}
