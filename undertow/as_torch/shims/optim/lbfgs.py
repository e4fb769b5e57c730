"""A private name of torch.optim.lbfgs."""

from undertow.optim.lbfgs import _cubic_minimum as _cubic_interpolate

__all__ = ["_cubic_interpolate"]
