"""Cases for entries whose values are tested elsewhere, so that vmap over them is tested too."""

from __future__ import annotations

from cases.index import MASK, ROWS
from samples import Array, Fixed, case, index

A = Array((3, 4))
DISTINCT = Array((3, 4), distinct=True)
POSITIVE = Array((3, 4), 0.3, 2.0)
UNIT = Array((3, 4), 0.05, 0.95)
BITS = Fixed([[1, 2, 3], [4, 5, 6]], "int64")
SHIFTS = Fixed([1, 0, 2], "int64")
SPD = Fixed([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 5.0]], "float64")

_ROUNDED = [{"rounding_mode": m} for m in (None, "floor", "trunc")]

CASES = {
    "threshold": [case(DISTINCT, 0.5, 2.0)],
    "div.mode": [case(A, Array((4,), away=0.5), **m) for m in _ROUNDED],
    "div.mode#other": [case(A, 0.7, **m) for m in _ROUNDED],
    "floor_divide.self": [case(7, Array((3, 4), away=0.5))],
    "remainder.self": [case(7, Array((3, 4), away=0.5))],
    "pow.scalar": [case(POSITIVE, 2), case(POSITIVE, 0.5), case(Array(()), 3)],
    "pow.self": [case(2, A), case(1.5, Array(()))],
    "round.decimals": [case(A, decimals=1)],
    "clamp": [case(DISTINCT, Array((4,), -1.5, -0.5), Array((3, 1), 0.5, 1.5))],
    "clamp.number": [case(DISTINCT, -0.7, 0.9), case(DISTINCT, None, 0.3)],
    "index_fill.int_Tensor": [case(A, 0, ROWS, Array(())), case(A, 1, ROWS, Array(()))],
    "index_fill.int_Scalar": [case(A, 0, ROWS, 1)],
    "masked_fill.Tensor": [case(A, MASK, Array(()))],
    "masked_fill.Scalar": [case(A, MASK, 1), case(Array((4,)), MASK, 1)],
    "linalg_cross": [case(Array((2, 3)), Array((2, 3))), case(Array((3, 2)), Array((3, 2)), dim=0)],
    "linalg_inv": [case(SPD)],
    "linalg_vector_norm": [case(A, p, d) for p in (2, 1, 3.5) for d in (None, [0], [0, 1])],
    "renorm": [case(Array((3, 4), distinct=True), 2, d, 1.0) for d in (0, 1)],
    **{f"bitwise_{side}_shift": [case(BITS, SHIFTS, differentiable=False)] for side in ("left", "right")},
    **{f"bitwise_{side}_shift#other": [case(BITS, 1, differentiable=False)] for side in ("left", "right")},
    **{f"bitwise_{name}.self": [case(6, BITS, differentiable=False)] for name in ("and", "or", "xor", "left_shift", "right_shift")},
    "soft_margin_loss": [case(A, Fixed([[1.0, -1.0, 1.0, -1.0]] * 3, "float64"), r) for r in (0, 1, 2)],
    "binary_cross_entropy": [case(UNIT, UNIT, None, r) for r in (0, 1, 2)] + [case(UNIT, UNIT, POSITIVE, 1)],
    "binary_cross_entropy_with_logits": [case(A, UNIT, None, None, r) for r in (0, 1, 2)] + [case(A, UNIT, POSITIVE, Array((4,), 0.3, 2.0), 1)],
    "nll_loss_nd": [case(A, index([0, 3, 1]), None, r) for r in (0, 1, 2)]
    + [case(A, index([0, -100, 1]), Array((4,), 0.3, 2.0), 1), case(Array((4,)), index(2)), case(Array((2, 4, 3)), index([[0, 1, 3], [2, 2, 0]]))],
    "cross_entropy_loss": [case(A, index([0, 3, 1])), case(A, index([0, 3, 1]), None, 1, -100, 0.1), case(Array((4,)), index(2)), case(A, UNIT)],
    "searchsorted": [case(index([1, 3, 5]), index([[2, 5], [0, 9]])), case(index([[1, 3, 5], [2, 4, 6]]), index([[2, 5], [0, 9]]))],
    "searchsorted.number": [case(index([1, 3, 5]), 4)],
    "bucketize.number": [case(4, index([1, 3, 5]))],
    "isin": [case(index([[1, 2], [3, 4]]), index([2, 3])), case(index([1, 2]), index([2, 3]), invert=True)],
    "isin.number": [case(index([1, 2, 3]), 2)],
    "isin.in_tensor": [case(2, index([1, 2, 3]))],
    "histc": [case(A, 4, -2, 2, differentiable=False)],
    "polygamma": [case(2, POSITIVE)],
    "mvlgamma": [case(Array((3, 4), 1.5, 3.0), 2)],
    "_block_diag": [case([A, Array((2, 2))])],
    "index_put": [case(Array((2, 3, 4)), [index([1, 0]), None, index([3, 1])], Array((2, 3))),
                  case(Array((2, 3, 4)), [None, index([[2, 0]]), index([3, 1])], Array((2, 1, 2)), True)],
}
