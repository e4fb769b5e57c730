"""Reinterpret batch dimensions as event dimensions."""

from __future__ import annotations

import undertow
from undertow.distributions import constraints
from undertow.distributions.distribution import Distribution

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["Independent"]


def _sum_last(value: Tensor, dims: int) -> Tensor:
    return value.reshape((*value.shape[: value.dim() - dims], -1)).sum(-1) if dims else value


class Independent(Distribution):
    """Reinterprets the last batch dimensions of a distribution as event dimensions.

    >>> import undertow as ut
    >>> from undertow.distributions import Normal
    >>> d = Independent(Normal(ut.zeros(3, 2), ut.ones(3, 2)), 1)
    >>> d.batch_shape, d.event_shape, d.log_prob(ut.zeros(2)).shape
    (undertow.Size([3]), undertow.Size([2]), undertow.Size([3]))
    """

    base_dist: Distribution
    reinterpreted_batch_ndims: int

    def __init__(self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None) -> None:
        n = reinterpreted_batch_ndims
        if n > len(base_distribution.batch_shape):
            raise ValueError(
                f"Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual {n} vs {len(base_distribution.batch_shape)}"
            )
        shape = base_distribution.batch_shape + base_distribution.event_shape
        batch = len(base_distribution.batch_shape) - n
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, n
        super().__init__(shape[:batch], shape[batch:], validate_args=validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]  # as the base says
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> bool:  # type: ignore[override]
        return not self.reinterpreted_batch_ndims and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> Any:
        inner, n = self.base_dist.support, self.reinterpreted_batch_ndims
        return constraints.independent(inner, n) if n else inner

    @property
    def mean(self) -> Tensor:
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def expand(self, batch_shape: Any, _instance: Any = None) -> Independent:
        inner = self.base_dist.expand(undertow.Size(batch_shape) + self._event_shape[: self.reinterpreted_batch_ndims])
        return self._like(
            _instance, batch_shape, self._event_shape, base_dist=inner, reinterpreted_batch_ndims=self.reinterpreted_batch_ndims
        )

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return _sum_last(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return _sum_last(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"
