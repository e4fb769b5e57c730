"""Cases for the entries of ops/comparison.toml."""

from __future__ import annotations

import numpy as np
from samples import Array, case, mask

A = Array((3, 4))
DISTINCT = Array((3, 4), distinct=True)
POSITIVE = Array((3, 4), 0.3, 2.0)
MASK = mask([[True, False, True, False]])

CASES = {
    "clamp": [case(DISTINCT, POSITIVE, Array((4,), 1.0, 3.0), reference=lambda x, a, b: np.minimum(np.maximum(x, a), b), real_only=True),
              case(DISTINCT, POSITIVE, reference=np.maximum, real_only=True),
              case(DISTINCT, max=POSITIVE, reference=lambda x, max: np.minimum(x, max), real_only=True)],
    "clamp.number": [case(DISTINCT, 0, 1, reference=np.clip, real_only=True),
                     case(DISTINCT, 1, reference=np.maximum, real_only=True),
                     case(DISTINCT, max=1, reference=lambda x, max: np.minimum(x, max), real_only=True)],
    "where": [case(MASK, A, Array((3, 4)), reference=np.where)],
    "where#other": [case(MASK, A, 2, reference=np.where)],
    "where#self": [case(MASK, 2, A, reference=np.where)],
    "where_of": [case(A, MASK, Array((3, 4)))],
    "where_of#other": [case(A, MASK, 2)],
    "allclose": [case(A, A), case(A, Array((4,)))],
    "equal": [case(A, A), case(A, Array((3, 4), 5.0, 6.0)), case(Array((0, 2)), Array((0, 2)))],
}
