"""Cases for the entries of ops/copy.toml."""

from __future__ import annotations

import numpy as np
from samples import DTYPES, Array, Case, Fixed, case, to_bfloat16

import undertow as ut

A = Array((3, 4))
POSITIVE = Array((3, 4), 0.3, 2.0)


def _conversion(dtype: str) -> list[Case]:
    """x.float() and similar. Finite differences in float64 cannot check conversions that lose precision."""
    array = POSITIVE if dtype == "uint8" else A  # the conversion of a negative number is undefined there
    convert = to_bfloat16 if dtype == "bfloat16" else lambda x: x.astype(dtype)
    return [case(array, reference=convert, real_only=not dtype.startswith("complex"), differentiable=dtype in ("float64", "complex128"))]


CASES = {
    "copy": [case(A, Array((4,)), reference=lambda x, y: np.broadcast_to(y, x.shape)), case(A, A, reference=lambda x, y: y)],
    "clone": [case(A, reference=np.copy), case(Array((0, 2)), reference=np.copy), case(Array(()), reference=np.copy)],
    "fill.Tensor": [case(A, Array(()), reference=lambda x, v: np.full_like(x, v))],
    "fill": [case(A, 1, reference=lambda x, v: np.full_like(x, v))],
    "zero": [case(A, reference=np.zeros_like)],
    "contiguous": [case(A, reference=np.copy)],
    **{f"to_{dtype}": _conversion(dtype) for dtype in DTYPES},
    "to.dtype": [case(A, ut.float64, reference=lambda x, d: x.astype("float64"), real_only=True)],
    "to.device": [case(A, "cpu", reference=lambda x, d: x), case(A, "cpu", ut.complex128, reference=lambda x, d, t: x.astype("complex128"))],
    "to.other": [case(A, Fixed([1.0], "float64"), reference=lambda x, y: x.astype("float64"), real_only=True)],
    "type_as": [case(A, Fixed([1.0], "float64"), reference=lambda x, y: x.astype("float64"), real_only=True)],
    "cpu": [case(A, reference=np.copy)],
    "item": [case(Array(()), reference=lambda x: x), case(Array((1, 1)), reference=lambda x: x[0, 0])],
    "resize_": [case(A, [2, 3], reference=lambda x, s: x.ravel()[:6].reshape(2, 3), differentiable=False)],
    "resize_as_": [case(A, Array((6,)), reference=lambda x, y: x.ravel()[:6], differentiable=False)],
    "_to_copy": [case(A, ut.float64, reference=lambda x, d: x.astype("float64"), real_only=True)],
    "to_dtype": [case(A, ut.float64, reference=lambda x, d: x.astype("float64"), real_only=True)],
}
