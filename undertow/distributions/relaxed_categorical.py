"""The relaxed categorical distribution: differentiable samples on the simplex, close to a corner at low temperatures."""

from __future__ import annotations

import undertow
from undertow.distributions import constraints
from undertow.distributions.categorical import Categorical
from undertow.distributions.distribution import Distribution
from undertow.distributions.transformed_distribution import TransformedDistribution
from undertow.distributions.transforms import ExpTransform
from undertow.distributions.utils import broadcast_all, clamp_probs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]

class ExpRelaxedCategorical(Distribution):
    """The logarithm of a relaxed categorical variable: Gumbel variables with location `logits`, divided by the temperature, normalised."""

    temperature: Tensor
    arg_constraints: dict[str, constraints.Constraint] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, temperature: Tensor, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._categorical, self.temperature = Categorical(probs, logits), temperature
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        inner = self._categorical.expand(batch_shape)
        return self._like(_instance, batch_shape, self._event_shape, temperature=self.temperature, _categorical=inner)

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._categorical.probs

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter."""
        return self._categorical.param_shape

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        u = clamp_probs(undertow.rand(self._extended_shape(sample_shape), dtype=self.logits.dtype, device=self.logits.device))
        scores = (self.logits - (-(u.log())).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        k = self._categorical._num_events
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        log_scale = undertow.full_like(self.temperature, float(k)).lgamma() - self.temperature.log().mul(-(k - 1))
        score = logits - value.mul(self.temperature)
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + log_scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """A relaxed one-hot categorical variable.

    >>> import undertow as ut
    >>> RelaxedOneHotCategorical(ut.tensor(0.5), ut.tensor([0.2, 0.8])).event_shape
    undertow.Size([2])
    """

    arg_constraints: dict[str, constraints.Constraint] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support: constraints.Constraint = constraints.simplex
    has_rsample = True

    def __init__(self, temperature: Tensor, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Any:
        """The temperature: at lower values, samples are closer to a corner of the simplex."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self.base_dist.probs
