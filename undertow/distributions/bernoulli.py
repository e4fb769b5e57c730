"""The Bernoulli distribution."""

from __future__ import annotations

import undertow
from undertow.distributions import constraints
from undertow.distributions._probs_or_logits import OddsDistribution, chosen
from undertow.distributions.exp_family import ExponentialFamily
from undertow.distributions.utils import broadcast_all, is_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["Bernoulli"]


class Bernoulli(OddsDistribution, ExponentialFamily):
    """1 with probability `probs`, or with log-odds `logits`; 0 otherwise.

    >>> import undertow as ut
    >>> Bernoulli(probs=ut.tensor([0.25, 1.0])).mean
    tensor([0.2500, 1.0000])
    """

    arg_constraints: dict[str, constraints.Constraint] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True

    _mean_carrier_measure = 0

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        name, given = chosen(probs, logits)
        (self._param,) = broadcast_all(given)
        setattr(self, name, self._param)
        super().__init__(() if is_number(given) else self._param.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return undertow.where(self.probs == 0.5, float("nan"), (self.probs >= 0.5).to(self.probs.dtype))

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Bernoulli:
        return self._grown(_instance, batch_shape)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with undertow.no_grad():
            return undertow.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -undertow.nn.functional.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return undertow.nn.functional.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = undertow.arange(2, dtype=self._param.dtype, device=self._param.device).view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (undertow.logit(self.probs),)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return x.exp().log1p()
