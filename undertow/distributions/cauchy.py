"""`Cauchy`, under torch's module name."""

from undertow.distributions._location_scale import Cauchy

__all__ = ["Cauchy"]
