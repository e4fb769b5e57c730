"""The Cauchy distribution."""

from __future__ import annotations

import math

import undertow
from undertow.distributions._location_scale import LocationScale

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["Cauchy"]


class Cauchy(LocationScale):
    """The ratio of two normal variables. Its tails are so heavy that it has no mean.

    >>> Cauchy(0.0, 1.0).entropy()
    tensor(2.5310)
    """

    @property
    def mean(self) -> Tensor:
        return undertow.full(self._batch_shape, math.nan, dtype=self.loc.dtype, device=self.loc.device)

    @property
    def variance(self) -> Tensor:
        return undertow.full(self._batch_shape, math.inf, dtype=self.loc.dtype, device=self.loc.device)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        drawn = undertow.empty(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device).cauchy_()
        return self.loc + drawn * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return undertow.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return undertow.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()
