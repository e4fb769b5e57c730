"""The exponential distribution."""

from __future__ import annotations

import undertow
from undertow.distributions import constraints
from undertow.distributions.exp_family import ExponentialFamily
from undertow.distributions.utils import broadcast_all, is_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["Exponential"]


class Exponential(ExponentialFamily):
    """The waiting time for an event that occurs `rate` times per unit of time.

    >>> Exponential(2.0).mean
    tensor(0.5000)
    """

    if TYPE_CHECKING:
        rate: Tensor
    arg_constraints: dict[str, constraints.Constraint] = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    _mean_carrier_measure = 0

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(() if is_number(rate) else self.rate.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.rate.reciprocal()

    stddev = mean

    @property
    def mode(self) -> Tensor:
        return undertow.zeros_like(self.rate)

    @property
    def variance(self) -> Tensor:
        return self.rate.pow(-2)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Exponential:
        return self._like(_instance, batch_shape, rate=self.rate.expand(batch_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return undertow.empty(self._extended_shape(sample_shape), dtype=self.rate.dtype, device=self.rate.device).exponential_() / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Tensor) -> Tensor:
        return 1 - undertow.exp(-self.rate * value)

    def icdf(self, value: Tensor) -> Tensor:
        return -undertow.log1p(-value) / self.rate

    def entropy(self) -> Tensor:
        return 1.0 - undertow.log(self.rate)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (-self.rate,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return -(-x).log()
