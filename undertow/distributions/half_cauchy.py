"""The half-Cauchy distribution."""

from __future__ import annotations

import math

import undertow
from undertow.distributions._half import HalfDistribution
from undertow.distributions.cauchy import Cauchy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from undertow import Tensor

__all__ = ["HalfCauchy"]


class HalfCauchy(HalfDistribution):
    """The absolute value of a Cauchy variable with location 0 and this scale.

    >>> HalfCauchy(1.0).mean
    tensor(inf)
    """

    _whole = Cauchy

    @property
    def mean(self) -> Tensor:
        return undertow.full(self._batch_shape, math.inf, dtype=self.scale.dtype, device=self.scale.device)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance
