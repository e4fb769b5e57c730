"""Cases for pointwise operators whose arguments no generic sample makes, and for conversions."""

from __future__ import annotations

import math

import numpy as np
from samples import DTYPES, Array, Case, Fixed, case, mask, to_bfloat16

import undertow as ut

A = Array((3, 4))
DISTINCT = Array((3, 4), distinct=True)
POSITIVE = Array((3, 4), 0.3, 2.0)
NONZERO = Array((3, 4), away=0.5)
WHOLE = tuple(d for d in DTYPES if d.startswith(("bool", "int", "uint")))
MASK = mask([[True, False, True, False]])

_ROUNDED = {"floor": np.floor_divide, "trunc": lambda x, y: np.trunc(x / y), None: np.divide}


def _quotients(other) -> list[Case]:
    return [case(A, other, rounding_mode=mode, reference=lambda x, y, rounding_mode: _ROUNDED[rounding_mode](x, y), real_only=True)
            for mode in ("floor", "trunc", None)]


def _log_multigamma(x, p):
    lgamma = np.vectorize(math.lgamma, otypes=[float])
    return p * (p - 1) / 4 * math.log(math.pi) + sum(lgamma(x - i / 2) for i in range(p))


def _conversion(dtype: str) -> list[Case]:
    """x.float() and its kind. What loses digits has a derivative that finite differences in float64 do not see."""
    array = POSITIVE if dtype == "uint8" else A  # a negative number has no one meaning there
    convert = to_bfloat16 if dtype == "bfloat16" else lambda x: x.astype(dtype)
    return [case(array, reference=convert, real_only=not dtype.startswith("complex"), differentiable=dtype in ("float64", "complex128"))]


CASES = {
    "addcmul": [case(A, Array((4,)), Array((3, 1)), reference=lambda x, y, z: x + y * z)],
    "addcdiv": [case(A, Array((4,)), Array((3, 1), away=0.5), reference=lambda x, y, z: x + y / z, refuses=WHOLE)],
    "clamp": [case(DISTINCT, POSITIVE, Array((4,), 1.0, 3.0), reference=lambda x, a, b: np.minimum(np.maximum(x, a), b), real_only=True),
              case(DISTINCT, POSITIVE, reference=np.maximum, real_only=True),
              case(DISTINCT, max=POSITIVE, reference=lambda x, max: np.minimum(x, max), real_only=True)],
    "clamp.number": [case(DISTINCT, 0, 1, reference=np.clip, real_only=True),
                     case(DISTINCT, 1, reference=np.maximum, real_only=True),
                     case(DISTINCT, max=1, reference=lambda x, max: np.minimum(x, max), real_only=True)],
    "div.mode": _quotients(NONZERO),
    "div.mode#other": _quotients(2),
    "hardtanh": [case(DISTINCT, reference=lambda x: np.clip(x, -1, 1), refuses=("uint8",), real_only=True),
                 case(DISTINCT, 0, 1, reference=np.clip, real_only=True)],
    "mvlgamma": [case(Array((3, 4), 1.5, 3.0), 2, reference=_log_multigamma, refuses=("bool",)), case(Array((2,), 2.5, 4.0), 4, reference=_log_multigamma)],
    "polygamma": [case(n, POSITIVE) for n in (0, 1, 3)],
    "polygamma_of": [case(POSITIVE, 1)],
    "prelu": [case(DISTINCT, Array((4,)), reference=lambda x, w: np.where(x > 0, x, w * x), real_only=True),
              case(DISTINCT, Array((1,)), reference=lambda x, w: np.where(x > 0, x, w * x), real_only=True)],
    "round.decimals": [case(A, decimals=1), case(A, decimals=-1), case(A, decimals=0)],
    "threshold": [case(DISTINCT, 1, 20, reference=lambda x, t, v: np.where(x <= t, v, x), real_only=True)],
    "where": [case(MASK, A, Array((3, 4)), reference=np.where)],
    "where#other": [case(MASK, A, 2, reference=np.where)],
    "where#self": [case(MASK, 2, A, reference=np.where)],
    "where_of": [case(A, MASK, Array((3, 4)))],
    "where_of#other": [case(A, MASK, 2)],
    # comparisons that give one answer
    "allclose": [case(A, A), case(A, Array((4,)))],
    "equal": [case(A, A), case(A, Array((3, 4), 5.0, 6.0)), case(Array((0, 2)), Array((0, 2)))],
    # conversions
    **{f"to_{dtype}": _conversion(dtype) for dtype in DTYPES},
    "to.dtype": [case(A, ut.float64, reference=lambda x, d: x.astype("float64"), real_only=True)],
    "to.device": [case(A, "cpu", reference=lambda x, d: x), case(A, "cpu", ut.complex128, reference=lambda x, d, t: x.astype("complex128"))],
    "to.other": [case(A, Fixed([1.0], "float64"), reference=lambda x, y: x.astype("float64"), real_only=True)],
    "type_as": [case(A, Fixed([1.0], "float64"), reference=lambda x, y: x.astype("float64"), real_only=True)],
    "cpu": [case(A, reference=np.copy)],
    "item": [case(Array(()), reference=lambda x: x), case(Array((1, 1)), reference=lambda x: x[0, 0])],
    "view.dtype": [case(Fixed([[1.0, -2.5]], "float64"), ut.int32, reference=lambda x, d: x.view("int32")),
                   case(Fixed([[1, -2]], "int64"), ut.float64, reference=lambda x, d: x.view("float64")),
                   case(Fixed([[1.0, -2.5]], "float64"), ut.int16, reference=lambda x, d: x.view("int16")),
                   case(Fixed([[1, 2, 3, 4]], "int16"), ut.int64, reference=lambda x, d: x.view("int64"))],
    "resize_": [case(A, [2, 3], reference=lambda x, s: x.ravel()[:6].reshape(2, 3), differentiable=False)],
    "resize_as_": [case(A, Array((6,)), reference=lambda x, y: x.ravel()[:6], differentiable=False)],
}
