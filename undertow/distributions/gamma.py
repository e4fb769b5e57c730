"""The gamma and chi-squared distributions."""

from __future__ import annotations

import undertow
from undertow import _C
from undertow.distributions import constraints
from undertow.distributions.exp_family import ExponentialFamily
from undertow.distributions.utils import broadcast_all, is_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["Chi2", "Gamma"]


class Gamma(ExponentialFamily):
    """The gamma distribution, with density rate^a x^(a-1) exp(-rate x) / Gamma(a), where a is the `concentration`.

    >>> import undertow as ut
    >>> Gamma(ut.tensor([1.0, 2.0]), 2.0).mean
    tensor([0.5000, 1.0000])
    """

    if TYPE_CHECKING:
        concentration: Tensor
        rate: Tensor
    arg_constraints: dict[str, constraints.Constraint] = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    _mean_carrier_measure = 0

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
        value = _C._ops["_standard_gamma"](self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=undertow.finfo(value.dtype).tiny)
        return value

    def log_prob(self, value: Tensor) -> Tensor:
        value = undertow.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        if self._validate_args:
            self._validate_sample(value)
        a, rate = self.concentration, self.rate
        return undertow.xlogy(a, rate) + undertow.xlogy(a - 1, value) - rate * value - undertow.lgamma(a)

    def cdf(self, value: Tensor) -> Tensor:
        return undertow.special.gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - undertow.log(self.rate) + undertow.lgamma(a) + (1.0 - a) * undertow.digamma(a)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration - 1, -self.rate)

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return undertow.lgamma(x + 1) + (x + 1) * undertow.log(-y.reciprocal())


class Chi2(Gamma):
    """The sum of squares of `df` standard normal variables.

    >>> Chi2(3.0).mean
    tensor(3.)
    """

    arg_constraints: dict[str, constraints.Constraint] = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        (df,) = broadcast_all(df)
        super().__init__(0.5 * df, undertow.tensor(0.5, dtype=df.dtype, device=df.device), validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self.concentration * 2
