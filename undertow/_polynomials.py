"""Orthogonal polynomials of `torch.special`, by their recurrences: P_k from P_(k-1) and P_(k-2). Torch has no derivatives of them; these have."""

from __future__ import annotations

import undertow
from undertow._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    _Step = Callable[[Tensor, int, Tensor, Tensor], Tensor]


def _polynomial(name: str, first: Callable[[Tensor], Tensor], step: _Step) -> Callable[..., Tensor]:
    def polynomial(input: Any, n: Any, *, out: Tensor | None = None) -> Tensor:
        if not isinstance(input, Tensor) and not isinstance(n, Tensor):
            raise TypeError(f"{name}(): input or n must be a Tensor, got {type(input).__name__} and {type(n).__name__}")
        kind = undertow.result_type(input, n)
        kind = kind if kind.is_floating_point else undertow.get_default_dtype()
        x, degree = (t.to(kind) if isinstance(t, Tensor) else undertow.tensor(t, dtype=kind) for t in (input, n))
        x, degree = undertow.broadcast_tensors(x, degree.detach().trunc())
        before, now = undertow.ones_like(x), first(x)
        result = undertow.where(degree < 0, 0.0, before)
        for k in range(1, int(degree.max().item()) + 1 if degree.numel() else 1):
            if k > 1:
                before, now = now, step(x, k, now, before)
            result = undertow.where(degree == k, now, result)
        return result if out is None else out.resize_(result.shape).copy_(result)

    polynomial.__name__ = polynomial.__qualname__ = name
    polynomial.__doc__ = f"The {name.replace('_', ' ')} of degree n, elementwise; zero where n is below zero."
    return polynomial


def _chebyshev(x: Tensor, k: int, now: Tensor, before: Tensor) -> Tensor:
    return 2 * x * now - before


def _shifted(x: Tensor, k: int, now: Tensor, before: Tensor) -> Tensor:
    return 2 * (2 * x - 1) * now - before


_FIRST: dict[str, Callable[[Tensor], Tensor]] = {"t": lambda x: x, "u": lambda x: 2 * x, "v": lambda x: 2 * x - 1, "w": lambda x: 2 * x + 1}
_MADE = {f"chebyshev_polynomial_{kind}": _polynomial(f"chebyshev_polynomial_{kind}", first, _chebyshev) for kind, first in _FIRST.items()}
for _kind, _first in _FIRST.items():
    _name = f"shifted_chebyshev_polynomial_{_kind}"
    _MADE[_name] = _polynomial(_name, lambda x, first=_first: first(2 * x - 1), _shifted)  # type: ignore[misc]
for _name, _first, _step in (
    ("hermite_polynomial_h", lambda x: 2 * x, lambda x, k, now, before: 2 * (x * now - (k - 1) * before)),
    ("hermite_polynomial_he", lambda x: x, lambda x, k, now, before: x * now - (k - 1) * before),
    ("laguerre_polynomial_l", lambda x: 1 - x, lambda x, k, now, before: ((2 * k - 1 - x) * now - (k - 1) * before) / k),
    ("legendre_polynomial_p", lambda x: x, lambda x, k, now, before: ((2 * k - 1) * x * now - (k - 1) * before) / k),
):
    _MADE[_name] = _polynomial(_name, _first, _step)
globals().update(_MADE)


def spherical_bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """sin(x) / x, which is 1 at zero."""
    result = undertow.where(undertow.isinf(input), 0.0, undertow.sinc(input / undertow.pi))
    return result if out is None else out.resize_(result.shape).copy_(result)


def modified_bessel_i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """See `special.i0`."""
    return undertow.special.i0(input, out=out)


def modified_bessel_i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """See `special.i1`."""
    return undertow.special.i1(input, out=out)


NAMES = (*_MADE, "modified_bessel_i0", "modified_bessel_i1", "spherical_bessel_j0")
