"""The Weibull distribution."""

from __future__ import annotations

import undertow
from undertow.distributions import constraints
from undertow.distributions.exponential import Exponential
from undertow.distributions.transformed_distribution import TransformedDistribution
from undertow.distributions.transforms import AffineTransform, PowerTransform
from undertow.distributions.utils import broadcast_all, euler_constant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["Weibull"]

class Weibull(TransformedDistribution):
    """P(x > t) = exp(-(t / scale)^concentration).

    >>> Weibull(2.0, 1.0).mean
    tensor(2.)
    """

    if TYPE_CHECKING:
        scale: Tensor
        concentration: Tensor
        concentration_reciprocal: Tensor
    arg_constraints: dict[str, constraints.Constraint] = {"scale": constraints.positive, "concentration": constraints.positive}
    support: constraints.Constraint = constraints.positive

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(undertow.ones_like(self.scale), validate_args=validate_args)
        parts = [PowerTransform(exponent=self.concentration_reciprocal), AffineTransform(loc=0, scale=self.scale)]
        super().__init__(base, parts, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        for name in ("scale", "concentration", "concentration_reciprocal"):
            setattr(new, name, getattr(self, name).expand(batch_shape))
        return new

    @property
    def mean(self) -> Tensor:
        return self.scale * undertow.exp(undertow.lgamma(1 + self.concentration_reciprocal))

    @property
    def mode(self) -> Tensor:
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration.reciprocal()

    @property
    def variance(self) -> Tensor:
        one, two = undertow.lgamma(1 + self.concentration_reciprocal), undertow.lgamma(1 + 2 * self.concentration_reciprocal)
        return self.scale.pow(2) * (undertow.exp(two) - undertow.exp(2 * one))

    def entropy(self) -> Tensor:
        return euler_constant * (1 - self.concentration_reciprocal) + undertow.log(self.scale * self.concentration_reciprocal) + 1
