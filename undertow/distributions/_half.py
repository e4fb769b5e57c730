"""Base class of HalfNormal and HalfCauchy: the absolute value of a variable that is symmetric about zero."""

from __future__ import annotations

import math

import undertow
from undertow.distributions import constraints
from undertow.distributions.distribution import Distribution
from undertow.distributions.transformed_distribution import TransformedDistribution
from undertow.distributions.transforms import AbsTransform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor


class HalfDistribution(TransformedDistribution):
    """The distribution of |X|, where X follows the subclass's `_whole` with location 0 and this scale."""

    arg_constraints: dict[str, constraints.Constraint] = {"scale": constraints.positive}
    support: constraints.Constraint = constraints.nonnegative
    has_rsample = True
    _whole: type[Distribution] = Distribution  # the distribution of X; set by subclasses

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(self._whole(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Tensor:
        """The scale of X."""
        return self.base_dist.scale

    @property
    def mode(self) -> Tensor:
        return undertow.zeros_like(self.scale)

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value = undertow.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        return undertow.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob: Tensor) -> Tensor:
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
