"""The categorical distribution."""

from __future__ import annotations

import undertow
from undertow.distributions import constraints
from undertow.distributions.distribution import Distribution
from undertow.distributions.utils import lazy_property, logits_to_probs, probs_to_logits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["Categorical"]


class Categorical(Distribution):
    """An integer k from 0 to K-1, with probability proportional to probs[..., k], or to exp(logits[..., k]).

    >>> import undertow as ut
    >>> Categorical(probs=ut.tensor([1.0, 3.0])).log_prob(ut.tensor(1))
    tensor(-0.2877)
    """

    arg_constraints: dict[str, constraints.Constraint] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        given, name = (logits, "logits") if probs is None else (probs, "probs")
        if given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if probs is None:
            self.logits = self._param = logits - logits.logsumexp(dim=-1, keepdim=True)
        else:
            self.probs = self._param = probs / probs.sum(-1, keepdim=True)
        self._num_events = self._param.size(-1)
        super().__init__(self._param.size()[:-1], validate_args=validate_args)

    @lazy_property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return logits_to_probs(self.logits)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter."""
        return self._param.size()

    @property
    def mean(self) -> Tensor:
        return undertow.full(self._batch_shape, float("nan"), dtype=self.probs.dtype, device=self.probs.device)

    variance = mean

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Categorical:
        name = "probs" if "probs" in self.__dict__ else "logits"
        grown = getattr(self, name).expand((*batch_shape, self._num_events))
        return self._like(_instance, batch_shape, _param=grown, _num_events=self._num_events, **{name: grown})

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = undertow.Size(sample_shape)
        with undertow.no_grad():
            rows = self.probs.reshape(-1, self._num_events)
            drawn = undertow.multinomial(rows, shape.numel(), True).T
            return drawn.reshape(self._extended_shape(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, logits = undertow.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        least = undertow.finfo(self.logits.dtype).min
        return -(self.logits.clamp(min=least) * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = undertow.arange(self._num_events, device=self._param.device).view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values
