"""Base class of location-scale families."""

from __future__ import annotations

from undertow.distributions import constraints
from undertow.distributions.distribution import Distribution
from undertow.distributions.utils import broadcast_all, is_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor


class LocationScale(Distribution):
    """A location-scale family; the density is highest at `loc`."""

    if TYPE_CHECKING:
        loc: Tensor
        scale: Tensor
    arg_constraints: dict[str, constraints.Constraint] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(() if is_number(loc, scale) else self.loc.size(), validate_args=validate_args)

    @property
    def mode(self) -> Tensor:
        return self.loc

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._like(_instance, batch_shape, loc=self.loc.expand(batch_shape), scale=self.scale.expand(batch_shape))
