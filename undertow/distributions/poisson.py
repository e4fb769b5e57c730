"""The Poisson distribution."""

from __future__ import annotations

import undertow
from undertow.distributions import constraints
from undertow.distributions.exp_family import ExponentialFamily
from undertow.distributions.utils import broadcast_all, is_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    """The number of events per unit of time, if `rate` events occur on average.

    >>> import undertow as ut
    >>> Poisson(2.0).log_prob(ut.tensor(0.0))
    tensor(-2.)
    """

    if TYPE_CHECKING:
        rate: Tensor
    arg_constraints: dict[str, constraints.Constraint] = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(() if is_number(rate) else self.rate.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.rate

    variance = mean

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    def expand(self, batch_shape: Any, _instance: Any = None) -> Poisson:
        return self._like(_instance, batch_shape, rate=self.rate.expand(batch_shape))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with undertow.no_grad():
            return undertow.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.rate.log(),)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return x.exp()
