"""Cases for the entries of ops/softmax.toml."""

from __future__ import annotations

import numpy as np
from samples import Array, case

A, B = Array((3, 4)), Array((4, 2))


def _softmax(x, d, *_):
    e = np.exp(x - x.max(d, keepdims=True))
    return e / e.sum(d, keepdims=True)


CASES = {
    "softmax": [case(A, 1, reference=_softmax), case(A, 0, reference=_softmax)],
    "log_softmax": [case(A, 1, reference=lambda x, d: np.log(_softmax(x, d)))],
    "_safe_softmax": [case(A, d, reference=_softmax, real_only=True) for d in (0, 1)],
}
