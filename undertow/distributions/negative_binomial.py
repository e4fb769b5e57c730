"""The negative binomial distribution."""

from __future__ import annotations

import undertow
from undertow.distributions import constraints
from undertow.distributions._probs_or_logits import OddsDistribution, chosen
from undertow.distributions.gamma import Gamma
from undertow.distributions.utils import broadcast_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["NegativeBinomial"]

class NegativeBinomial(OddsDistribution):
    """The number of successes, with probability `probs`, before `total_count` failures, which may be fractional.

    >>> NegativeBinomial(3.0, 0.5).mean
    tensor(3.)
    """

    if TYPE_CHECKING:
        total_count: Tensor
    arg_constraints: dict[str, constraints.Constraint] = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        name, given = chosen(probs, logits)
        self.total_count, self._param = broadcast_all(total_count, given)
        self.total_count = self.total_count.type_as(self._param)
        setattr(self, name, self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._grown(_instance, batch_shape, total_count=self.total_count.expand(batch_shape))

    @property
    def mean(self) -> Tensor:
        return self.total_count * undertow.exp(self.logits)

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / undertow.sigmoid(-self.logits)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with undertow.no_grad():
            rate = Gamma(self.total_count, undertow.exp(-self.logits), validate_args=False).sample(sample_shape)
            return undertow.poisson(rate)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n, soft = self.total_count, undertow.nn.functional.logsigmoid
        outcome = n * soft(-self.logits) + value * soft(self.logits)
        ways = -undertow.lgamma(n + value) + undertow.lgamma(1.0 + value) + undertow.lgamma(n)
        ways = ways.masked_fill(n + value == 0.0, 0.0)
        return outcome - ways
