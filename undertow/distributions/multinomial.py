"""The multinomial distribution."""

from __future__ import annotations

import math

import undertow
from undertow.distributions import constraints
from undertow.distributions.binomial import Binomial
from undertow.distributions.categorical import Categorical
from undertow.distributions.distribution import Distribution
from undertow.distributions.utils import broadcast_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["Multinomial"]

class Multinomial(Distribution):
    """The counts of K categories in `total_count` draws.

    >>> import undertow as ut
    >>> Multinomial(10, ut.tensor([0.2, 0.8])).mean
    tensor([2., 8.])
    """

    arg_constraints: dict[str, constraints.Constraint] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    total_count: int

    def __init__(self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        grown = {"_categorical": self._categorical.expand(batch_shape), "_binomial": self._binomial, "total_count": self.total_count}
        return self._like(_instance, batch_shape, self._event_shape, **grown)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter."""
        return self._categorical.param_shape

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        drawn = self._categorical.sample(undertow.Size((self.total_count,)) + undertow.Size(sample_shape))
        shifted = drawn.permute(*range(1, drawn.dim()), 0)
        counts = shifted.new_zeros(self._extended_shape(sample_shape))
        counts.scatter_add_(-1, shifted, undertow.ones_like(shifted))
        return counts.type_as(self.probs)

    def entropy(self) -> Tensor:
        n = self.total_count
        cat_entropy = self._categorical.entropy()
        support = self._binomial.enumerate_support(expand=False)[1:]
        probs = undertow.exp(self._binomial.log_prob(support))
        return n * cat_entropy - math.lgamma(n + 1) + (probs * undertow.lgamma(support + 1)).sum((0, -1))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.clone()
        ways = undertow.lgamma(value.sum(-1) + 1) - undertow.lgamma(value + 1).sum(-1)
        logits = logits.masked_fill((value == 0) & (logits == -undertow.inf), 0)
        return ways + (logits * value).sum(-1)
