"""Cases for the entries of ops/linalg_solve.toml; derivatives that need a symmetric input are in tests/linalg/test_linalg_derivatives.py."""

from __future__ import annotations

import numpy as np
from samples import Array, Fixed, case

SQUARE, MATRICES = Array((3, 3)), Array((2, 3, 3))
TALL, WIDE = Array((4, 3)), Array((3, 4))
POSITIVE = Fixed([[4.0, 1.0, 0.5], [1.0, 3.0, -0.5], [0.5, -0.5, 2.0]], "float64")  # symmetric and positive definite
LOWER = Fixed([[2.0, 0.0, 0.0], [0.5, 1.5, 0.0], [0.3, -0.4, 1.2]], "float64")
# A = P L U of the matrix [[1, 2], [3, 4]].
LU, PIVOTS = Fixed([[3.0, 4.0], [1 / 3, 2 / 3]], "float64"), Fixed([2, 2], "int32")


def _solve(a, b, **_):
    return np.linalg.solve(a, b if b.ndim > 1 else b[:, None]).reshape(np.broadcast_shapes(b.shape))


_SINGULAR = "equal rows make a singular matrix"
# L D L^T of the matrix [[4, 1], [1, 2.25]], without exchanges.
LD = Fixed([[4.0, 0.0], [0.25, 2.0]], "float64")

CASES = {
    "linalg_lu_factor_ex": [case(SQUARE), case(MATRICES), case(TALL), case(WIDE)],
    "linalg_lu_factor": [case(SQUARE), case(TALL)],
    "linalg_lu": [case(SQUARE), case(TALL), case(WIDE)],
    "lu_unpack": [case(LU, PIVOTS)],
    "linalg_lu_solve": [case(LU, PIVOTS, Array((2, 3)), reference=lambda lu, p, b: np.linalg.solve([[1, 2], [3, 4]], b))],
    "lu_solve": [case(Array((2, 3)), LU, PIVOTS, reference=lambda b, lu, p: np.linalg.solve([[1, 2], [3, 4]], b))],
    "linalg_solve_ex": [case(SQUARE, Array((3, 2))), case(MATRICES, Array((3, 2)))],
    "linalg_solve": [case(SQUARE, Array((3, 2)), reference=_solve), case(SQUARE, Array((3,)), reference=_solve), case(MATRICES, Array((3, 2)))],
    "linalg_solve_triangular": [case(Array((3, 3), away=0.5), Array((3, 2)), upper=True, reference=lambda a, b, upper: np.linalg.solve(np.triu(a), b)),
                                case(Array((3, 3)), Array((2, 3)), upper=False, left=False, unitriangular=True)],
    "triangular_solve": [case(Array((3, 2)), Array((3, 3), away=0.5))],
    "linalg_inv_ex": [case(SQUARE), case(MATRICES)],
    "linalg_inv": [case(SQUARE, reference=np.linalg.inv), case(MATRICES, reference=np.linalg.inv)],
    "inverse": [case(SQUARE, reference=np.linalg.inv)],
    "linalg_det": [case(SQUARE, reference=np.linalg.det), case(MATRICES, reference=np.linalg.det), case(Array((1, 1)), reference=np.linalg.det)],
    "det": [case(SQUARE, reference=np.linalg.det)],
    "linalg_slogdet": [case(SQUARE, reference=np.linalg.slogdet, real_only=True), case(MATRICES, real_only=True)],
    "slogdet": [case(SQUARE, reference=np.linalg.slogdet, real_only=True)],
    "logdet": [case(POSITIVE, reference=lambda a: np.linalg.slogdet(a)[1])],
    "linalg_cholesky_ex": [case(POSITIVE, differentiable=False)],
    "linalg_cholesky": [case(POSITIVE, reference=np.linalg.cholesky, differentiable=False)],
    "cholesky": [case(POSITIVE, reference=np.linalg.cholesky, differentiable=False)],
    "cholesky_solve": [case(Array((3, 2)), LOWER, real_only=True, differentiable=False, reference=lambda b, low: np.linalg.solve(low @ low.T, b))],
    "cholesky_inverse": [case(LOWER, reference=lambda low: np.linalg.inv(low @ low.T), differentiable=False)],
    "linalg_tensorinv": [case(Array((6, 2, 3)), ind=1, reference=lambda a, ind: np.linalg.tensorinv(a, ind))],
    "linalg_tensorsolve": [case(Array((2, 3, 6)), Array((2, 3)), reference=np.linalg.tensorsolve)],
    "linalg_ldl_factor_ex": [case(POSITIVE)],
    "linalg_ldl_factor": [case(POSITIVE, differentiable=False)],
    "linalg_ldl_solve": [case(LD, Fixed([1, 2], "int32"), Array((2, 3)), reference=lambda ld, p, b: np.linalg.solve([[4, 1], [1, 2.25]], b))],
}
EXCEPT = {
    **{name: {"expanded": _SINGULAR} for name in (
        "linalg_lu_factor", "linalg_inv", "inverse", "linalg_solve", "linalg_solve_ex", "linalg_inv_ex", "linalg_lu_factor_ex", "linalg_lu", "linalg_slogdet",
        "slogdet", "linalg_tensorinv", "linalg_tensorsolve")},
}
