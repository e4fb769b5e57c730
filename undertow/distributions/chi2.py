"""`Chi2`, under torch's module name."""

from undertow.distributions.gamma import Chi2

__all__ = ["Chi2"]
