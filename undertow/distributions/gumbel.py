"""`Gumbel`, under torch's module name."""

from undertow.distributions._location_scale import Gumbel

__all__ = ["Gumbel"]
