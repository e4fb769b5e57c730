"""Special functions: error functions, gamma functions and their kin; orthogonal polynomials are loaded on first use."""

from undertow._namespace import publish

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = publish("special", globals())


def __getattr__(name: str) -> "Any":
    if "_polynomial_" in name or name in ("modified_bessel_i0", "modified_bessel_i1", "spherical_bessel_j0"):
        from undertow import _polynomials

        if name in _polynomials.NAMES:
            return getattr(_polynomials, name)
    raise AttributeError(f"module 'undertow.special' has no attribute {name!r}")
