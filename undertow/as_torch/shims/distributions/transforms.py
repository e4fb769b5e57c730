"""A private name of torch.distributions.transforms."""

from undertow import Tensor
from undertow.distributions.transforms import SigmoidTransform

__all__ = ["_clipped_sigmoid"]


def _clipped_sigmoid(x: Tensor) -> Tensor:
    """Return the sigmoid of `x`, between the smallest positive number and the largest below 1."""
    return SigmoidTransform()._call(x)
