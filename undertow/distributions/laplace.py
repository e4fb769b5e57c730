"""The Laplace distribution."""

from __future__ import annotations

import undertow
from undertow.distributions._location_scale import LocationScale

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["Laplace"]


class Laplace(LocationScale):
    """Density exp(-|x - loc| / scale) / (2 scale).

    >>> import undertow as ut
    >>> Laplace(0.0, 1.0).log_prob(ut.tensor(0.0))
    tensor(-0.6931)
    """

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        return 2**0.5 * self.scale

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        dtype = self.loc.dtype
        u = undertow.empty(self._extended_shape(sample_shape), dtype=dtype, device=self.loc.device).uniform_(undertow.finfo(dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * undertow.log1p(-u.abs())

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -undertow.log(2 * self.scale) - undertow.abs(value - self.loc) / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        distance = value - self.loc
        return 0.5 - 0.5 * distance.sign() * undertow.expm1(-distance.abs() / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * undertow.log1p(-2 * term.abs())

    def entropy(self) -> Tensor:
        return 1 + undertow.log(2 * self.scale)
