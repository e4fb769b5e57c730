"""Cases for the entries of ops/linalg_spectral.toml; derivatives that need a symmetric input are in tests/linalg/test_linalg_derivatives.py."""

from __future__ import annotations

import numpy as np
from samples import Array, Fixed, case

SQUARE, MATRICES = Array((3, 3)), Array((2, 3, 3))
TALL, WIDE = Array((4, 3)), Array((3, 4))
POSITIVE = Fixed([[4.0, 1.0, 0.5], [1.0, 3.0, -0.5], [0.5, -0.5, 2.0]], "float64")  # symmetric and positive definite
NUMBER = Fixed(1e-3, "float64")
_SINGULAR = "equal rows make a singular matrix"
_TIES = "equal rows make equal singular values, whose vectors are a choice"

CASES = {
    "linalg_qr": [case(TALL), case(WIDE), case(MATRICES)],
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
    "linalg_svdvals": [case(TALL, reference=lambda a: np.linalg.svd(a, compute_uv=False)), case(WIDE), case(MATRICES)],
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
    "linalg_matrix_exp": [case(SQUARE), case(MATRICES)],
    "matrix_exp": [case(Fixed([[0.0, 1.0], [0.0, 0.0]], "float64"), reference=lambda a: np.eye(2) + a)],
    "_linalg_eigh": [case(POSITIVE, "L", True, differentiable=False), case(POSITIVE, "U", True, differentiable=False)],
    "_linalg_svd": [case(TALL, False, True, real_only=True), case(WIDE, False, True, real_only=True)],
    "_linalg_pinv": [case(TALL, Fixed(0.0, "float64"), Fixed(1e-9, "float64"), False, reference=lambda a, atol, rtol, hermitian: np.linalg.pinv(a))],
}
EXCEPT = {
    **{name: dict.fromkeys(("first_derivative", "second_derivative", "forward_mode"), "composites whose results are integers")
       for name in ("linalg_matrix_rank", "linalg_matrix_rank.float", "linalg_matrix_rank.tol")},
    **{name: {"expanded": _TIES} for name in ("_linalg_svd", "_linalg_pinv")},
    **{name: {"expanded": _SINGULAR} for name in ("linalg_cond", "linalg_cond.str")},
    **{name: {"expanded": _TIES} for name in ("linalg_svd", "svd", "linalg_pinv", "linalg_pinv.float", "linalg_pinv.rcond", "pinverse", "linalg_lstsq")},
}
