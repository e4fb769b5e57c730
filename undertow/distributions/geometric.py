"""The geometric distribution."""

from __future__ import annotations

import undertow
from undertow.distributions import constraints
from undertow.distributions._probs_or_logits import OddsDistribution, chosen
from undertow.distributions.utils import _all_true, _shown, broadcast_all, is_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["Geometric"]


class Geometric(OddsDistribution):
    """The number of failures before the first success, where each trial succeeds with probability `probs`.

    >>> Geometric(0.25).mean
    tensor(3.)
    """

    arg_constraints: dict[str, constraints.Constraint] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        name, given = chosen(probs, logits)
        (self._param,) = broadcast_all(given)
        setattr(self, name, self._param)
        super().__init__(() if is_number(given) else self._param.size(), validate_args=validate_args)
        if self._validate_args and probs is not None and not _all_true(self.probs > 0):
            what = f"probs ({type(self.probs).__name__} of shape {tuple(self.probs.shape)}) of distribution {self!r}"
            raise ValueError(f"Expected parameter {what} to be positive but found invalid values:\n{_shown(self.probs)}")

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return undertow.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._grown(_instance, batch_shape)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        tiny = undertow.finfo(self.probs.dtype).tiny
        with undertow.no_grad():
            u = undertow.empty(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device).uniform_(tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        fails = undertow.where((probs == 1) & (value == 0), 0.0, (-probs).log1p())
        return value * fails + self.probs.log()

    def entropy(self) -> Tensor:
        return undertow.nn.functional.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
