"""Cases for the entries of ops/create.toml."""

from __future__ import annotations

import numpy as np
from samples import Array, Fixed, case

A = Array((3, 4))


def _filled(value):
    return lambda size, *a, **k: np.full(size, value)


_ENDS = {"tensor_tensor": (Fixed(0.0, "float64"), Fixed(1.0, "float64")), "tensor_number": (Fixed(0.0, "float64"), 1.0),
         "number_tensor": (0.0, Fixed(1.0, "float64"))}

CASES = {
    "zeros": [case([2, 3], reference=_filled(0)), case([], reference=_filled(0)), case([0, 2], reference=_filled(0))],
    "ones": [case([2, 3], reference=_filled(1)), case([], reference=_filled(1)), case([0, 2], reference=_filled(1))],
    "full": [case([2, 3], 7, reference=_filled(7)), case([2], 1.5, reference=_filled(1.5))],
    "empty": [case([2, 3]), case([])],
    "empty_strided": [case([2, 3], [1, 2])],
    "scalar_tensor": [case(3.5, reference=np.float32)],
    "zeros_like": [case(A, reference=np.zeros_like)],
    "ones_like": [case(A, reference=np.ones_like)],
    "full_like": [case(A, 1, reference=lambda x, v: np.full_like(x, v))],
    "empty_like": [case(A)],
    "new_zeros": [case(A, [2], reference=lambda x, s: np.zeros(s))],
    "new_ones": [case(A, [2], reference=lambda x, s: np.ones(s))],
    "new_full": [case(A, [2], 1, reference=lambda x, s, v: np.full(s, v))],
    "new_empty": [case(A, [2, 3])],
    "new_empty_strided": [case(A, [2, 3], [1, 2])],
    "arange": [case(5, reference=np.arange)],
    "arange.start_step": [case(2, 9, 3, reference=np.arange), case(1.0, 0.0, -0.25, reference=np.arange)],
    "range": [case(1, 4, reference=lambda a, b: np.arange(a, b + 1))],
    "linspace": [case(0.0, 1.0, 5, reference=np.linspace), case(3, 3, 1, reference=np.linspace)],
    **{f"linspace.{k}": [case(*a, 5, reference=np.linspace)] for k, a in _ENDS.items()},
    **{f"logspace.{k}": [case(*a, 5, reference=np.logspace)] for k, a in _ENDS.items()},
    "logspace": [case(0.0, 2.0, 5, reference=np.logspace)],
    "eye": [case(3, reference=np.eye)],
    "eye.m": [case(3, 4, reference=np.eye)],
}
