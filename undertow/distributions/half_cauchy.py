"""The absolute value of a Cauchy variable of middle zero."""

from __future__ import annotations

import math

import undertow
from undertow.distributions import constraints
from undertow.distributions._location_scale import Cauchy
from undertow.distributions.distribution import Distribution
from undertow.distributions.transformed_distribution import TransformedDistribution
from undertow.distributions.transforms import AbsTransform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["HalfCauchy"]

class HalfCauchy(TransformedDistribution):
    """|X| for X Cauchy about 0 with this scale.

    >>> HalfCauchy(1.0).mean
    tensor(inf)
    """

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative  # type: ignore[assignment]
    has_rsample = True  # type: ignore[assignment]

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        self.base_dist = Cauchy(0, scale, validate_args=False)
        self.transforms = [AbsTransform()]
        Distribution.__init__(self, self.base_dist.batch_shape, validate_args=validate_args)

    @property
    def scale(self) -> Tensor:
        """The scale before the sign is dropped."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        return undertow.full(self._batch_shape, math.inf, dtype=self.scale.dtype)

    @property
    def mode(self) -> Tensor:
        return undertow.zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape).abs()

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value = undertow.as_tensor(value, dtype=self.scale.dtype)
        return undertow.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob: Tensor) -> Tensor:
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
