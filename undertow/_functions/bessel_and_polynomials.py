"""Bessel and Airy functions and orthogonal polynomials of torch.special: named wrappers around two functions of the core.

As in torch, none is differentiable, and float16 and bfloat16 raise.
"""

from __future__ import annotations

import undertow
from undertow._C import Tensor, _ops
from undertow._override import overridable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

ONE = {
    "airy_ai": "Airy function Ai.",
    "bessel_j0": "Bessel function of the first kind of order 0.",
    "bessel_j1": "Bessel function of the first kind of order 1.",
    "bessel_y0": "Bessel function of the second kind of order 0.",
    "bessel_y1": "Bessel function of the second kind of order 1.",
    "modified_bessel_i0": "Modified Bessel function of the first kind of order 0.",
    "modified_bessel_i1": "Modified Bessel function of the first kind of order 1.",
    "modified_bessel_k0": "Modified Bessel function of the second kind of order 0.",
    "modified_bessel_k1": "Modified Bessel function of the second kind of order 1.",
    "scaled_modified_bessel_k0": "exp(x) times `modified_bessel_k0`.",
    "scaled_modified_bessel_k1": "exp(x) times `modified_bessel_k1`.",
    "spherical_bessel_j0": "Spherical Bessel function of the first kind of order 0, sin(x) / x.",
}
POLYNOMIALS = {
    **{f"chebyshev_polynomial_{kind}": f"Chebyshev polynomial {kind.upper()} of degree n." for kind in "tuvw"},
    "hermite_polynomial_h": "Hermite polynomial H of degree n.",
    "hermite_polynomial_he": "Hermite polynomial He of degree n.",
    "laguerre_polynomial_l": "Laguerre polynomial of degree n.",
    "legendre_polynomial_p": "Legendre polynomial of degree n.",
    **{f"shifted_chebyshev_polynomial_{kind}": f"Chebyshev polynomial {kind.upper()} of degree n, evaluated at 2x - 1." for kind in "tuvw"},
}


def _one(name: str) -> Callable[..., Tensor]:
    def function(input: Tensor, *, out: Tensor | None = None) -> Tensor:
        return _ops["_special.special_one"](input, name, out=out)

    return function


def _polynomial(name: str) -> Callable[..., Tensor]:
    def function(input: Any, n: Any, *, out: Tensor | None = None) -> Tensor:
        if not isinstance(input, Tensor) and not isinstance(n, Tensor):
            raise TypeError(f"special_{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
        dtype = undertow.result_type(input, n)
        device = (input if isinstance(input, Tensor) else n).device
        x, degree = (value.to(dtype) if isinstance(value, Tensor) else undertow.tensor(value, dtype=dtype, device=device) for value in (input, n))
        return _ops["_special.special_polynomial"](*undertow.broadcast_tensors(x, degree), name, out=out)

    return function


def _documented(function: Callable[..., Tensor], name: str, doc: str) -> Callable[..., Tensor]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return overridable(function)


functions = {name: _documented(_one(name), name, doc) for name, doc in ONE.items()}
functions.update((name, _documented(_polynomial(name), name, doc)) for name, doc in POLYNOMIALS.items())
