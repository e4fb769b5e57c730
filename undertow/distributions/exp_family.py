"""Exponential families."""

from __future__ import annotations

import undertow
from undertow.distributions.distribution import Distribution

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["ExponentialFamily"]

class ExponentialFamily(Distribution):
    """An exponential family. Subclasses define the natural parameters and the log normaliser; its derivative gives the entropy."""

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Tensor:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError

    def entropy(self) -> Tensor:
        result = -self._mean_carrier_measure
        parameters = [p.detach().requires_grad_() for p in self._natural_params]
        normaliser = self._log_normalizer(*parameters)
        gradients = undertow.autograd.grad(normaliser.sum(), parameters, create_graph=True)
        result = result + normaliser
        for parameter, gradient in zip(parameters, gradients, strict=True):
            result = result - (parameter * gradient).reshape((*self._batch_shape, -1)).sum(-1)
        return result
