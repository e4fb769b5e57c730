"""The binomial distribution."""

from __future__ import annotations

import undertow
from undertow.distributions import constraints
from undertow.distributions._probs_or_logits import OddsDistribution, chosen
from undertow.distributions.utils import broadcast_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["Binomial"]

class Binomial(OddsDistribution):
    """The number of successes in `total_count` trials with probability `probs`, or log-odds `logits`.

    >>> import undertow as ut
    >>> Binomial(10, ut.tensor([0.1, 0.5])).mean
    tensor([1., 5.])
    """

    if TYPE_CHECKING:
        total_count: Tensor
    arg_constraints: dict[str, constraints.Constraint] = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        name, given = chosen(probs, logits)
        self.total_count, self._param = broadcast_all(total_count, given)
        self.total_count = self.total_count.type_as(self._param)
        setattr(self, name, self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._grown(_instance, batch_shape, total_count=self.total_count.expand(batch_shape))

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with undertow.no_grad():
            return undertow.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n, logits = self.total_count, self.logits
        choices = undertow.lgamma(n + 1) - undertow.lgamma(value + 1) - undertow.lgamma(n - value + 1)
        return choices + value * logits - n * undertow.logaddexp(logits, undertow.zeros_like(logits))

    def entropy(self) -> Tensor:
        if not bool((self.total_count == self.total_count.max()).all()):
            raise NotImplementedError("Inhomogeneous total count not supported by `entropy`.")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        most = int(self.total_count.max())
        if not bool((self.total_count == most).all()):
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support`.")
        values = undertow.arange(1 + most, dtype=self._param.dtype, device=self._param.device).view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values
