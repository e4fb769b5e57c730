"""The relaxed Bernoulli distribution: samples in (0, 1) that are differentiable, and close to 0 or 1 at low temperatures."""

from __future__ import annotations

import undertow
from undertow.distributions import constraints
from undertow.distributions._probs_or_logits import OddsDistribution, chosen
from undertow.distributions.transformed_distribution import TransformedDistribution
from undertow.distributions.transforms import SigmoidTransform
from undertow.distributions.utils import broadcast_all, clamp_probs, is_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]

class LogitRelaxedBernoulli(OddsDistribution):
    """The log-odds of a relaxed Bernoulli variable: a logistic variable with location `logits`, divided by the temperature."""

    arg_constraints: dict[str, constraints.Constraint] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    has_rsample = True

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self.temperature = temperature
        name, given = chosen(probs, logits)
        (self._param,) = broadcast_all(given)
        setattr(self, name, self._param)
        super().__init__(() if is_number(given) else self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._grown(_instance, batch_shape, temperature=self.temperature)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(undertow.rand(shape, dtype=probs.dtype, device=probs.device))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        difference = logits - value.mul(self.temperature)
        return self.temperature.log() + difference - 2 * difference.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """A relaxed Bernoulli variable with probability `probs`.

    >>> import undertow as ut
    >>> RelaxedBernoulli(ut.tensor(0.5), ut.tensor([0.1, 0.9])).batch_shape
    undertow.Size([2])
    """

    arg_constraints: dict[str, constraints.Constraint] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support: constraints.Constraint = constraints.unit_interval
    has_rsample = True

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Any:
        """The temperature: at lower values, samples are closer to 0 or 1."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """The log-odds."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """The probability of 1."""
        return self.base_dist.probs
