"""The uniform distribution."""

from __future__ import annotations

import undertow
from undertow.distributions import constraints
from undertow.distributions.distribution import Distribution
from undertow.distributions.utils import broadcast_all, is_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["Uniform"]


class Uniform(Distribution):
    """The uniform distribution on [low, high).

    >>> Uniform(0.0, 2.0).entropy()
    tensor(0.6931)
    """

    if TYPE_CHECKING:
        low: Tensor
        high: Tensor
    has_rsample = True

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:  # type: ignore[override]
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(() if is_number(low, high) else self.low.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Tensor:
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        """NaN: every point is as likely."""
        return undertow.nan * self.high

    @property
    def stddev(self) -> Tensor:
        return (self.high - self.low) / 12**0.5

    @property
    def variance(self) -> Tensor:
        return (self.high - self.low).pow(2) / 12

    def expand(self, batch_shape: Any, _instance: Any = None) -> Uniform:
        return self._like(_instance, batch_shape, low=self.low.expand(batch_shape), high=self.high.expand(batch_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        drawn = undertow.rand(self._extended_shape(sample_shape), dtype=self.low.dtype, device=self.low.device)
        return self.low + drawn * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        inside = self.low.le(value) & self.high.gt(value)
        return undertow.log(inside.to(self.low.dtype)) - undertow.log(self.high - self.low)

    def cdf(self, value: Tensor) -> Tensor:
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        return undertow.log(self.high - self.low)
