"""The von Mises distribution of angles."""

from __future__ import annotations

import math

import undertow
from undertow.distributions import constraints
from undertow.distributions.distribution import Distribution
from undertow.distributions.utils import broadcast_all, lazy_property

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["VonMises"]

def _log_bessel(x: Tensor, order: int) -> Tensor:
    """Return log I_order(x), computed from the scaled function, which does not overflow."""
    scaled = undertow.special.i0e(x) if order == 0 else undertow.special.i1e(x)
    return scaled.log() + x.abs()


class VonMises(Distribution):
    """Density proportional to exp(concentration cos(x - loc)) on the circle.

    >>> VonMises(0.5, 1.0).mean
    tensor(0.5000)
    """

    if TYPE_CHECKING:
        loc: Tensor
        concentration: Tensor
    arg_constraints: dict[str, constraints.Constraint] = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._like(_instance, batch_shape, loc=self.loc.expand(batch_shape), concentration=self.concentration.expand(batch_shape))

    @lazy_property
    def _proposal(self) -> Tensor:
        kappa = self.concentration.double()
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        return undertow.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draw samples by Best and Fisher's rejection method from a wrapped Cauchy variable, for all elements at once until each is accepted."""
        with undertow.no_grad():
            shape = self._extended_shape(sample_shape)
            kappa, r = self.concentration.double(), self._proposal
            x, done = undertow.empty(shape, dtype=undertow.float64, device=r.device), undertow.zeros(shape, dtype=undertow.bool, device=r.device)
            while not bool(done.all()):
                u1, u2, u3 = undertow.rand((3, *shape), dtype=undertow.float64, device=r.device).unbind()
                z = undertow.cos(math.pi * u1)
                f = (1 + r * z) / (r + z)
                c = kappa * (r - f)
                accept = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
                x = undertow.where(accept, (u3 - 0.5).sign() * f.acos(), x)
                done = done | accept
            return ((x + math.pi + self.loc.double()) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self.concentration * undertow.cos(value - self.loc) - math.log(2 * math.pi) - _log_bessel(self.concentration, 0)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The circular variance."""
        return 1 - (_log_bessel(self.concentration, 1) - _log_bessel(self.concentration, 0)).exp()
