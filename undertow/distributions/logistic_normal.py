"""The logistic normal distribution."""

from __future__ import annotations

from undertow.distributions import constraints
from undertow.distributions.independent import Independent
from undertow.distributions.normal import Normal
from undertow.distributions.transformed_distribution import TransformedDistribution
from undertow.distributions.transforms import StickBreakingTransform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["LogisticNormal"]

class LogisticNormal(TransformedDistribution):
    """Points on the simplex: a normal vector after the stick-breaking transform.

    >>> import undertow as ut
    >>> LogisticNormal(ut.zeros(2), ut.ones(2)).event_shape
    undertow.Size([3])
    """

    arg_constraints: dict[str, constraints.Constraint] = {"loc": constraints.real, "scale": constraints.positive}
    support: constraints.Constraint = constraints.simplex
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base if base.batch_shape else base.expand([1]), StickBreakingTransform(), validate_args=validate_args)

    def _normal(self) -> Any:
        return self.base_dist.base_dist if isinstance(self.base_dist, Independent) else self.base_dist

    @property
    def loc(self) -> Tensor:
        """The mean of the normal vector."""
        return self._normal().loc

    @property
    def scale(self) -> Tensor:
        """The standard deviation of the normal vector."""
        return self._normal().scale
