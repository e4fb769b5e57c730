"""Distributions made of one shape, moved by `loc` and stretched by `scale`: Cauchy and Gumbel."""

from __future__ import annotations

import math

import undertow
from undertow.distributions import constraints
from undertow.distributions.distribution import Distribution
from undertow.distributions.utils import broadcast_all, euler_constant, is_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["Cauchy", "Gumbel"]


class _LocationScale(Distribution):
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(() if is_number(loc, scale) else self.loc.size(), validate_args=validate_args)

    @property
    def mode(self) -> Tensor:
        return self.loc

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._like(_instance, batch_shape, loc=self.loc.expand(batch_shape), scale=self.scale.expand(batch_shape))


class Cauchy(_LocationScale):
    """The ratio of two normal variables: tails so heavy that there is no mean.

    >>> Cauchy(0.0, 1.0).entropy()
    tensor(2.5310)
    """

    @property
    def mean(self) -> Tensor:
        return undertow.full(self._batch_shape, math.nan, dtype=self.loc.dtype)

    @property
    def variance(self) -> Tensor:
        return undertow.full(self._batch_shape, math.inf, dtype=self.loc.dtype)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        drawn = undertow.empty(self._extended_shape(sample_shape), dtype=self.loc.dtype).cauchy_()
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


class Gumbel(_LocationScale):
    """The largest of many variables, in the limit.

    >>> Gumbel(0.0, 1.0).mean
    tensor(0.5772)
    """

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * euler_constant

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    @property
    def stddev(self) -> Tensor:
        return (math.pi / math.sqrt(6)) * self.scale

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        finfo = undertow.finfo(self.loc.dtype)
        low = undertow.full_like(self.loc, finfo.tiny)
        drawn = undertow.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype)
        uniform = low + drawn * ((1 - finfo.eps) - low)
        return self.loc - self.scale * (-uniform.log()).log()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)
