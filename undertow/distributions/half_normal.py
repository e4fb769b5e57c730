"""The half-normal distribution."""

from __future__ import annotations

import math

from undertow.distributions._half import HalfDistribution
from undertow.distributions.normal import Normal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from undertow import Tensor

__all__ = ["HalfNormal"]


class HalfNormal(HalfDistribution):
    """The absolute value of a normal variable with mean 0 and standard deviation `scale`.

    >>> HalfNormal(1.0).mean
    tensor(0.7979)
    """

    _whole = Normal

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)
