"""The Kumaraswamy distribution."""

from __future__ import annotations

import undertow
from undertow.distributions import constraints
from undertow.distributions.transformed_distribution import TransformedDistribution
from undertow.distributions.transforms import AffineTransform, PowerTransform
from undertow.distributions.uniform import Uniform
from undertow.distributions.utils import broadcast_all, euler_constant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["Kumaraswamy"]

class Kumaraswamy(TransformedDistribution):
    """A distribution on the unit interval with P(x <= t) = 1 - (1 - t^concentration1)^concentration0.

    >>> Kumaraswamy(1.0, 1.0).mean
    tensor(0.5000)
    """

    if TYPE_CHECKING:
        concentration1: Tensor
        concentration0: Tensor
    arg_constraints: dict[str, constraints.Constraint] = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support: constraints.Constraint = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(undertow.full_like(self.concentration0, 0), undertow.full_like(self.concentration0, 1), validate_args=validate_args)
        parts = [PowerTransform(self.concentration0.reciprocal()), AffineTransform(1.0, -1.0), PowerTransform(self.concentration1.reciprocal())]
        super().__init__(base, parts, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new.concentration1, new.concentration0 = self.concentration1.expand(batch_shape), self.concentration0.expand(batch_shape)
        return new

    def _moment(self, n: int) -> Tensor:
        a, b = self.concentration1, self.concentration0
        shape = 1 + n / a
        return undertow.exp(b.log() + undertow.lgamma(shape) + undertow.lgamma(b) - undertow.lgamma(shape + b))

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        log_mode = a.reciprocal() * ((a - 1).log() - (a * b - 1).log())
        return undertow.where((b < 1) | (a < 1), float("nan"), log_mode.exp())

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self.mean.pow(2)

    def entropy(self) -> Tensor:
        t1, t0 = 1 - self.concentration1.reciprocal(), 1 - self.concentration0.reciprocal()
        harmonic = undertow.digamma(self.concentration0 + 1) + euler_constant
        return t0 + t1 * harmonic - undertow.log(self.concentration1) - undertow.log(self.concentration0)
