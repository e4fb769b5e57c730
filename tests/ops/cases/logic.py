"""Cases for the entries of ops/logic.toml."""

from __future__ import annotations

import numpy as np
from samples import Fixed, case

BITS, SHIFTS = Fixed([[1, 2, 3], [4, 5, 6]], "int64"), Fixed([1, 0, 2], "int64")

CASES = {
    "__ilshift__": [case(BITS, SHIFTS, reference=np.left_shift, differentiable=False)],
    "__ilshift__#other": [case(BITS, 2, reference=np.left_shift, differentiable=False)],
    "__irshift__": [case(BITS, SHIFTS, reference=np.right_shift, differentiable=False)],
    "__irshift__#other": [case(BITS, 2, reference=np.right_shift, differentiable=False)],
}
EXCEPT = {
    **{name: dict.fromkeys(("first_derivative", "second_derivative", "forward_mode"), "composites whose results are integers") for name in ("__rlshift__", "__rrshift__")},
}
