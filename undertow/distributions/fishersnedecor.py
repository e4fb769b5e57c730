"""The Fisher-Snedecor (F) distribution."""

from __future__ import annotations

import undertow
from undertow.distributions import constraints
from undertow.distributions.distribution import Distribution
from undertow.distributions.gamma import Gamma
from undertow.distributions.utils import broadcast_all, is_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["FisherSnedecor"]

class FisherSnedecor(Distribution):
    """The ratio X / Y, where X and Y are chi-squared variables divided by their degrees of freedom df1 and df2.

    >>> FisherSnedecor(1.0, 4.0).mean
    tensor(2.)
    """

    if TYPE_CHECKING:
        df1: Tensor
        df2: Tensor
    arg_constraints: dict[str, constraints.Constraint] = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1, self._gamma2 = Gamma(self.df1 * 0.5, self.df1), Gamma(self.df2 * 0.5, self.df2)
        super().__init__(() if is_number(df1, df2) else self.df1.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        gammas = {"_gamma1": self._gamma1.expand(batch_shape), "_gamma2": self._gamma2.expand(batch_shape)}
        return self._like(_instance, batch_shape, df1=self.df1.expand(batch_shape), df2=self.df2.expand(batch_shape), **gammas)

    @property
    def mean(self) -> Tensor:
        df2 = undertow.where(self.df2 <= 2, float("nan"), self.df2)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return undertow.where(self.df1 <= 2, float("nan"), mode)

    @property
    def variance(self) -> Tensor:
        df2 = undertow.where(self.df2 <= 4, float("nan"), self.df2)
        return 2 * df2.pow(2) * (self.df1 + df2 - 2) / (self.df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape, tiny = self._extended_shape(sample_shape), undertow.finfo(self.df2.dtype).tiny
        above = self._gamma1.rsample(sample_shape).view(shape)
        below = self._gamma2.rsample(sample_shape).view(shape).clamp(min=tiny)
        return (above / below).clamp(min=tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a, b, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        whole = (a + b).lgamma() - a.lgamma() - b.lgamma()
        return whole + a * ratio.log() + (a - 1) * value.log() - (a + b) * undertow.log1p(ratio * value)
