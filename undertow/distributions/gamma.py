"""The gamma distribution, and the squares of normal variables that are one."""

from __future__ import annotations

import math

import undertow
from undertow.distributions import constraints
from undertow.distributions.distribution import Distribution
from undertow.distributions.utils import broadcast_all, is_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["Chi2", "Gamma"]


def _uniform() -> float:
    return float(undertow.rand((), dtype=undertow.float64))


def _normal() -> float:
    return float(undertow.randn((), dtype=undertow.float64))


_THIRD = 0.3333333432674408  # in float32, as torch has it: its draws are ours to the last digits


def _draw(alpha: float) -> float:
    """One gamma variable by Marsaglia and Tsang's squeeze; below 1 the shape is raised by one and the draw scaled down."""
    scale = 1.0
    if alpha < 1.0:
        if alpha == 0.0:
            return 0.0
        scale = (1.0 - _uniform()) ** (1.0 / alpha)
        alpha += 1.0
    d = alpha - _THIRD
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = _normal()
        y = 1.0 + c * x
        while y <= 0.0:
            x = _normal()
            y = 1.0 + c * x
        v = y * y * y
        u = 1.0 - _uniform()
        if u < 1.0 - 0.0331 * x**4 or math.log(u) < 0.5 * x * x + d * (1.0 - v + math.log(v)):
            return scale * d * v


class _StandardGamma(undertow.autograd.Function):
    """Draws of rate 1. Their derivative by the shape a keeps F(x; a) constant: dx/da = -(dF/da) / p(x; a)."""

    @staticmethod
    def forward(ctx: Any, alpha: Tensor) -> Tensor:
        drawn = [_draw(a) for a in alpha.double().flatten().tolist()]
        result = undertow.tensor(drawn, dtype=undertow.float64).reshape(alpha.shape).to(alpha.dtype)
        result = result.clamp_min(undertow.finfo(alpha.dtype).tiny)
        ctx.save_for_backward(alpha, result)
        return result

    @staticmethod
    @undertow.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        alpha, x = (t.double() for t in ctx.saved_tensors)
        h = 1e-4 * alpha
        # Central differences of fourth order.
        near = undertow.igamma(alpha + h, x) - undertow.igamma(alpha - h, x)
        far = undertow.igamma(alpha + 2 * h, x) - undertow.igamma(alpha - 2 * h, x)
        slope = (8 * near - far) / (12 * h)
        density = ((alpha - 1) * x.log() - x - alpha.lgamma()).exp()
        return grad * (-slope / density).to(grad.dtype)


class Gamma(Distribution):
    """Density rate^a x^(a-1) exp(-rate x) / Gamma(a), a being the `concentration`.

    >>> import undertow as ut
    >>> Gamma(ut.tensor([1.0, 2.0]), 2.0).mean
    tensor([0.5000, 1.0000])
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(() if is_number(concentration, rate) else self.concentration.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Gamma:
        return self._like(_instance, batch_shape, concentration=self.concentration.expand(batch_shape), rate=self.rate.expand(batch_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        value = _StandardGamma.apply(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=undertow.finfo(value.dtype).tiny)
        return value

    def log_prob(self, value: Tensor) -> Tensor:
        value = undertow.as_tensor(value, dtype=self.rate.dtype)
        if self._validate_args:
            self._validate_sample(value)
        a, rate = self.concentration, self.rate
        return undertow.xlogy(a, rate) + undertow.xlogy(a - 1, value) - rate * value - undertow.lgamma(a)

    def cdf(self, value: Tensor) -> Tensor:
        return undertow.special.gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - undertow.log(self.rate) + undertow.lgamma(a) + (1.0 - a) * undertow.digamma(a)


class Chi2(Gamma):
    """The sum of squares of `df` standard normal variables.

    >>> Chi2(3.0).mean
    tensor(3.)
    """

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        (df,) = broadcast_all(df)
        super().__init__(0.5 * df, undertow.tensor(0.5, dtype=df.dtype), validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self.concentration * 2
