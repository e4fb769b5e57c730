"""Transforms of single numbers: exp, sigmoid, tanh, powers, affine functions, cumulative distribution functions."""

from __future__ import annotations

import math

import undertow
from undertow.distributions import constraints
from undertow.distributions.transforms import Transform, _grown
from undertow.distributions.utils import broadcast_all, sum_last

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor


class _Rising(Transform):
    """An increasing function."""

    bijective = True
    sign = 1


class ExpTransform(_Rising):
    """exp(x)."""

    codomain: constraints.Constraint = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class SigmoidTransform(_Rising):
    """1 / (1 + exp(-x))."""

    codomain: constraints.Constraint = constraints.unit_interval

    def _call(self, x: Tensor) -> Tensor:
        finfo = undertow.finfo(x.dtype)
        return undertow.sigmoid(x).clamp(min=finfo.tiny, max=1.0 - finfo.eps)

    def _inverse(self, y: Tensor) -> Tensor:
        finfo = undertow.finfo(y.dtype)
        y = y.clamp(min=finfo.tiny, max=1.0 - finfo.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        soft = undertow.nn.functional.softplus
        return -soft(-x) - soft(x)


class SoftplusTransform(_Rising):
    """log(1 + exp(x))."""

    codomain: constraints.Constraint = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return undertow.nn.functional.softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -undertow.nn.functional.softplus(-x)


class TanhTransform(_Rising):
    """tanh(x). The inverse is inexact for values near 1; cache_size=1 avoids this.

    >>> import undertow as ut
    >>> TanhTransform()(ut.tensor(0.5))
    tensor(0.4621)
    """

    codomain: constraints.Constraint = constraints.interval(-1.0, 1.0)

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return undertow.atanh(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return 2.0 * (math.log(2.0) - x - undertow.nn.functional.softplus(-2.0 * x))


class PowerTransform(Transform):
    """x^exponent for positive x."""

    if TYPE_CHECKING:
        exponent: Tensor
    domain: constraints.Constraint = constraints.positive
    codomain: constraints.Constraint = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        (self.exponent,) = broadcast_all(exponent)

    @property
    def sign(self) -> Any:
        return self.exponent.sign()

    def _parameters(self) -> tuple[Any, ...]:
        return (self.exponent,)

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return undertow.broadcast_shapes(shape, getattr(self.exponent, "shape", ()))

    inverse_shape = forward_shape


class AbsTransform(Transform):
    """|x|. The inverse returns the positive value."""

    codomain: constraints.Constraint = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    """loc + scale * x, elementwise or, with event_dim, as one vector."""

    if TYPE_CHECKING:
        loc: Tensor | float
        scale: Tensor | float
    bijective = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @property
    def domain(self) -> constraints.Constraint:
        return _grown(constraints.real, self._event_dim)

    @property
    def codomain(self) -> constraints.Constraint:
        return _grown(constraints.real, self._event_dim)

    @property
    def sign(self) -> Any:
        return self.scale.sign() if isinstance(self.scale, undertow.Tensor) else (self.scale > 0) - (self.scale < 0)

    def _parameters(self) -> tuple[Any, ...]:
        return self.loc, self.scale

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if isinstance(self.scale, undertow.Tensor):
            slope = self.scale.abs().log().expand(x.shape)
        else:
            slope = undertow.full_like(x, math.log(abs(self.scale)))
        return sum_last(slope, self._event_dim)

    def forward_shape(self, shape: Any) -> Any:
        return undertow.broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape


class CumulativeDistributionTransform(Transform):
    """The cumulative distribution function of a distribution; the inverse is its quantile function."""

    bijective = True
    codomain: constraints.Constraint = constraints.unit_interval
    sign = 1

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)
