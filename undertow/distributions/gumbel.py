"""The Gumbel distribution."""

from __future__ import annotations

import math

import undertow
from undertow.distributions import constraints
from undertow.distributions.transformed_distribution import TransformedDistribution
from undertow.distributions.transforms import AffineTransform, ExpTransform
from undertow.distributions.uniform import Uniform
from undertow.distributions.utils import broadcast_all, euler_constant, is_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """The Gumbel distribution: the limit distribution of the maximum of many variables.

    >>> Gumbel(0.0, 1.0).mean
    tensor(0.5772)
    """

    if TYPE_CHECKING:
        loc: Tensor
        scale: Tensor
    arg_constraints: dict[str, constraints.Constraint] = {"loc": constraints.real, "scale": constraints.positive}
    support: constraints.Constraint = constraints.real

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        finfo = undertow.finfo(self.loc.dtype)
        both: tuple[Any, Any] = (finfo.tiny, 1 - finfo.eps)
        if not is_number(loc, scale):
            both = (undertow.full_like(self.loc, both[0]), undertow.full_like(self.loc, both[1]))
        ones = undertow.ones_like(self.scale)
        parts = [ExpTransform().inv, AffineTransform(loc=0, scale=-ones), ExpTransform().inv, AffineTransform(loc=loc, scale=-self.scale)]
        super().__init__(Uniform(*both, validate_args=validate_args), parts, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new.loc, new.scale = self.loc.expand(batch_shape), self.scale.expand(batch_shape)
        return new

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * euler_constant

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    @property
    def stddev(self) -> Tensor:
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def mode(self) -> Tensor:
        return self.loc

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)
