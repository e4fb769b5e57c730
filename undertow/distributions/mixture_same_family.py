"""Mixtures of distributions of the same family."""

from __future__ import annotations

import undertow
from undertow.distributions import constraints
from undertow.distributions.categorical import Categorical
from undertow.distributions.distribution import Distribution

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture: a Categorical selects the component. The components are the last batch dimension of `component_distribution`.

    >>> import undertow as ut
    >>> from undertow.distributions import Categorical, Normal
    >>> MixtureSameFamily(Categorical(ut.ones(2)), Normal(ut.tensor([-1.0, 3.0]), 1.0)).mean
    tensor(1.)
    """

    if TYPE_CHECKING:
        mixture_distribution: Categorical
    component_distribution: Distribution

    def __init__(self, mixture_distribution: Categorical, component_distribution: Distribution, validate_args: bool | None = None) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution need to be an instance of torch.distributions.Distribution")
        if mixture_distribution.param_shape[-1] != component_distribution.batch_shape[-1]:
            raise ValueError(
                f"`mixture_distribution component` ({mixture_distribution.param_shape[-1]}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({component_distribution.batch_shape[-1]})"
            )
        self.mixture_distribution, self.component_distribution = mixture_distribution, component_distribution
        event = component_distribution.event_shape
        super().__init__(component_distribution.batch_shape[:-1], event, validate_args=validate_args)

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self.component_distribution.support)

    def _weights(self) -> Tensor:
        probs = self.mixture_distribution.probs
        return probs.reshape((*probs.shape, *(1 for _ in self._event_shape)))

    def _over_components(self, values: Tensor) -> Tensor:
        return (self._weights() * values).sum(-1 - len(self._event_shape))

    @property
    def mean(self) -> Tensor:
        return self._over_components(self.component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        inside = self._over_components(self.component_distribution.variance)
        between = self.component_distribution.mean - self.mean.unsqueeze(-1 - len(self._event_shape))
        return inside + self._over_components(between.pow(2))

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        shape = undertow.Size(batch_shape)
        mixture = self.mixture_distribution.expand(shape)
        component = self.component_distribution.expand(shape + self.component_distribution.batch_shape[-1:])
        return self._like(_instance, shape, self._event_shape, mixture_distribution=mixture, component_distribution=component)

    def cdf(self, x: Tensor) -> Tensor:
        inside = self.component_distribution.cdf(x.unsqueeze(-1 - len(self._event_shape)))
        return (inside * self.mixture_distribution.probs).sum(-1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with undertow.no_grad():
            chosen = self.mixture_distribution.sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            at = len(undertow.Size(sample_shape)) + len(self._batch_shape)
            index = chosen.reshape((*chosen.shape, 1, *(1 for _ in self._event_shape)))
            index = index.expand((*chosen.shape, 1, *self._event_shape))
            return drawn.gather(at, index).squeeze(at)

    def log_prob(self, x: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(x)
        event = len(self._event_shape)
        inside = self.component_distribution.log_prob(x.unsqueeze(-1 - event))
        return undertow.logsumexp(inside + undertow.log_softmax(self.mixture_distribution.logits, -1), -1)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
