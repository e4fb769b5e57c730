"""The continuous Bernoulli distribution, on the unit interval."""

from __future__ import annotations

import math

import undertow
from undertow.distributions import constraints
from undertow.distributions.exp_family import ExponentialFamily
from undertow.distributions.utils import _all_true, broadcast_all, clamp_probs, is_number, lazy_property, logits_to_probs, probs_to_logits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["ContinuousBernoulli"]

class ContinuousBernoulli(ExponentialFamily):
    """Density proportional to probs^x (1 - probs)^(1 - x) on [0, 1]. For probs between `lims`, a series about 1/2 is used.

    >>> ContinuousBernoulli(probs=0.5).mean
    tensor(0.5000)
    """

    arg_constraints: dict[str, constraints.Constraint] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    _mean_carrier_measure = 0

    def __init__(
        self, probs: Any = None, logits: Any = None, lims: tuple[float, float] = (0.499, 0.501), validate_args: bool | None = None
    ) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        given = probs if logits is None else logits
        (self._param,) = broadcast_all(given)
        if logits is None:
            if validate_args is not None and not _all_true(self.arg_constraints["probs"].check(self._param)):
                raise ValueError("The parameter probs has invalid values")
            self.probs = self._param = clamp_probs(self._param)
        else:
            self.logits = self._param
        self._lims = lims
        super().__init__(() if is_number(given) else self._param.size(), validate_args=validate_args)

    @lazy_property
    def logits(self) -> Tensor:
        """The log-odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """The probability of 1 of the Bernoulli distribution."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter."""
        return self._param.size()

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        name = "probs" if "probs" in self.__dict__ else "logits"
        grown = getattr(self, name).expand(batch_shape)
        return self._like(_instance, batch_shape, _param=grown, _lims=self._lims, **{name: grown})

    def _outside(self) -> Tensor:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut(self) -> Tensor:
        """Return the probabilities, replaced by a limit where the series is used, to avoid 0/0 in values and gradients."""
        return undertow.where(self._outside(), self.probs, self._lims[0] * undertow.ones_like(self.probs))

    def _log_norm(self) -> Tensor:
        cut = self._cut()
        below = undertow.where(cut <= 0.5, cut, undertow.zeros_like(cut))
        above = undertow.where(cut >= 0.5, cut, undertow.ones_like(cut))
        exact = (undertow.log1p(-cut) - cut.log()).abs().log() - undertow.where(cut <= 0.5, undertow.log1p(-2.0 * below), (2.0 * above - 1.0).log())
        x = (self.probs - 0.5).pow(2)
        return undertow.where(self._outside(), exact, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self) -> Tensor:
        cut, x = self._cut(), self.probs - 0.5
        exact = cut / (2.0 * cut - 1.0) + 1.0 / (undertow.log1p(-cut) - cut.log())
        return undertow.where(self._outside(), exact, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x)

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    @property
    def variance(self) -> Tensor:
        cut, x = self._cut(), (self.probs - 0.5).pow(2)
        exact = cut * (cut - 1.0) / (1.0 - 2.0 * cut).pow(2) + 1.0 / (undertow.log1p(-cut) - cut.log()).pow(2)
        return undertow.where(self._outside(), exact, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with undertow.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.icdf(undertow.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -undertow.nn.functional.binary_cross_entropy_with_logits(logits, value, reduction="none") + self._log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        cut = self._cut()
        exact = (cut.pow(value) * (1.0 - cut).pow(1.0 - value) + cut - 1.0) / (2.0 * cut - 1.0)
        inside = undertow.where(self._outside(), exact, value)
        return undertow.where(value <= 0.0, 0.0, undertow.where(value >= 1.0, 1.0, inside))

    def icdf(self, value: Tensor) -> Tensor:
        cut = self._cut()
        exact = (undertow.log1p(-cut + value * (2.0 * cut - 1.0)) - undertow.log1p(-cut)) / (cut.log() - undertow.log1p(-cut))
        return undertow.where(self._outside(), exact, value)

    def entropy(self) -> Tensor:
        zero, one = undertow.log1p(-self.probs), self.probs.log()
        return self.mean * (zero - one) - self._log_norm() - zero

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        low, high = (limit - 0.5 for limit in self._lims)
        outside = (x <= low) | (x > high)
        cut = undertow.where(outside, x, low * undertow.ones_like(x))
        exact = cut.expm1().abs().log() - cut.abs().log()
        return undertow.where(outside, exact, 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0)
