"""Cases for the entries of ops/arithmetic.toml."""

from __future__ import annotations

import numpy as np
from samples import DTYPES, Array, Case, Fixed, case

A = Array((3, 4))
NONZERO = Array((3, 4), away=0.5)
WHOLE = tuple(d for d in DTYPES if d.startswith(("bool", "int", "uint")))
_ROUNDED = {"floor": np.floor_divide, "trunc": lambda x, y: np.trunc(x / y), None: np.divide}


def _quotients(other) -> list[Case]:
    return [case(A, other, rounding_mode=mode, reference=lambda x, y, rounding_mode: _ROUNDED[rounding_mode](x, y), real_only=True)
            for mode in ("floor", "trunc", None)]
_OF_NUMBERS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "floor_divide": np.floor_divide}

CASES = {
    "addcmul": [case(A, Array((4,)), Array((3, 1)), reference=lambda x, y, z: x + y * z)],
    "addcdiv": [case(A, Array((4,)), Array((3, 1), away=0.5), reference=lambda x, y, z: x + y / z, raises_for=WHOLE)],
    "div.mode": _quotients(NONZERO),
    "div.mode#other": _quotients(2),
    **{f"{name}.numbers": [case(7, 2.5, reference=f), case(7, 2, reference=f)] for name, f in _OF_NUMBERS.items()},
    "nan_to_num_kernel": [case(A, 1.0, 2.0, -3.0, reference=lambda x, *_: x),
                          case(Fixed([np.nan, np.inf, -np.inf, 1.0], "float64"), 1.0, 2.0, -3.0, reference=lambda x, n, h, l: np.array([n, h, l, 1.0]))],
}
EXCEPT = {
    "sign": {"second_derivative": "the first is zero everywhere, and has no graph"},
    "__rfloordiv__": dict.fromkeys(("first_derivative", "second_derivative", "forward_mode"), "floor_divide, which has no derivative"),
}
