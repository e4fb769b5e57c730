"""The Dirichlet distribution."""

from __future__ import annotations

import undertow
from undertow import _C
from undertow.distributions import constraints
from undertow.distributions.exp_family import ExponentialFamily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """Points on the simplex, with density proportional to the product of x_k^(concentration_k - 1).

    >>> import undertow as ut
    >>> Dirichlet(ut.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    arg_constraints: dict[str, constraints.Constraint] = {"concentration": constraints.positive_vector}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        """The first corner where all concentrations are below 1; NaN where none is above 1 but one is 1."""
        above = (self.concentration - 1).clamp(min=0.0)
        corner = undertow.zeros_like(above)
        corner[..., 0] = 1
        return undertow.where((self.concentration < 1).all(-1, keepdim=True), corner, above / above.sum(-1, True))

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def expand(self, batch_shape: Any, _instance: Any = None) -> Dirichlet:
        grown = self.concentration.expand((*batch_shape, *self._event_shape))
        return self._like(_instance, batch_shape, self._event_shape, concentration=grown)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        # In float64, since draws for small concentrations underflow in float32; and, as in torch, never exactly 0 or 1.
        wide = self.concentration.expand(self._extended_shape(sample_shape)).to(undertow.float64)
        drawn = _C._ops["_standard_gamma"](wide)
        limits = undertow.finfo(self.concentration.dtype)
        return (drawn / drawn.sum(-1, keepdim=True)).to(self.concentration.dtype).clamp(limits.tiny, 1 - limits.eps / 2)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a = self.concentration
        return undertow.xlogy(a - 1.0, value).sum(-1) + undertow.lgamma(a.sum(-1)) - undertow.lgamma(a).sum(-1)

    def entropy(self) -> Tensor:
        a, k = self.concentration, self.concentration.size(-1)
        total = a.sum(-1)
        return (
            undertow.lgamma(a).sum(-1) - undertow.lgamma(total) - (k - total) * undertow.digamma(total) - ((a - 1.0) * undertow.digamma(a)).sum(-1)
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()
