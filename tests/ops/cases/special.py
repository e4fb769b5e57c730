"""Cases for the entries of ops/special.toml."""

from __future__ import annotations

import math

import numpy as np
import pytest
from samples import Array, Fixed, case

POSITIVE = Array((3, 4), 0.3, 2.0)


def _log_multigamma(x, p):
    lgamma = np.vectorize(math.lgamma, otypes=[float])
    return p * (p - 1) / 4 * math.log(math.pi) + sum(lgamma(x - i / 2) for i in range(p))
_ONE = {"bessel_j0": "j0", "bessel_y1": "y1", "modified_bessel_i1": "i1", "modified_bessel_k0": "k0", "scaled_modified_bessel_k1": "k1e"}


def _scipy(name):
    return getattr(pytest.importorskip("scipy.special"), _ONE[name])


def _legendre(x):
    """Degrees 0, 1 and 2 in the three rows."""
    return np.stack([np.ones_like(x[0]), x[1], (3 * x[2] ** 2 - 1) / 2])
A, DEGREES = Array((3, 4)), Fixed([[0.0] * 4, [1.0] * 4, [2.0] * 4], "float64")

CASES = {
    "mvlgamma": [case(Array((3, 4), 1.5, 3.0), 2, reference=_log_multigamma, raises_for=("bool",)), case(Array((2,), 2.5, 4.0), 4, reference=_log_multigamma)],
    "polygamma": [case(n, POSITIVE) for n in (0, 1, 3)],
    "polygamma_of": [case(POSITIVE, 1)],
    "igamma": [case(Array((3, 4), 0.5, 3.0), Array((3, 4), 0.5, 3.0), differentiable=False)],
    "igammac": [case(Array((3, 4), 0.5, 3.0), Array((3, 4), 0.5, 3.0), differentiable=False)],
    "special_one": [case(POSITIVE, name, reference=lambda x, name: _scipy(name)(x), real_only=True) for name in _ONE],
    "special_polynomial": [case(A, DEGREES, "legendre_polynomial_p", reference=lambda x, n, _: _legendre(x), real_only=True)],
    "logit_backward": [case(A, Array((3, 4), 0.05, 0.95), reference=lambda g, x: g / (x * (1 - x)), real_only=True),
                       case(A, Array((3, 4), 0.05, 0.95), 0.3, reference=lambda g, x, eps: np.where((x >= eps) & (x <= 1 - eps), g / (x * (1 - x)), 0), real_only=True)],
}
EXCEPT = {
    **{name: {"threads": "one argument has no derivative"} for name in ("igamma", "igammac")},
}
