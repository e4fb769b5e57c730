"""A distribution's variables after a transform."""

from __future__ import annotations

import undertow
from undertow.distributions.distribution import Distribution
from undertow.distributions.independent import _sum_last
from undertow.distributions.transforms import Transform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """What the variables of a distribution become under transforms, with the density that follows.

    >>> import undertow as ut
    >>> from undertow.distributions import Normal, TanhTransform
    >>> TransformedDistribution(Normal(0.0, 1.0), [TanhTransform()]).log_prob(ut.tensor(0.0))
    tensor(-0.9189)
    """

    def __init__(self, base_distribution: Any, transforms: Any, validate_args: bool | None = None) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        if not all(isinstance(t, Transform) for t in self.transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        self.base_dist = base_distribution
        shape = base_distribution.batch_shape + base_distribution.event_shape
        event = max([len(base_distribution.event_shape), *(t.event_dim for t in self.transforms)])
        super().__init__(shape[: len(shape) - event], shape[len(shape) - event :], validate_args=validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    @property
    def support(self) -> Any:  # type: ignore[override]
        return self.transforms[-1].codomain if self.transforms else self.base_dist.support

    def expand(self, batch_shape: Any, _instance: Any = None) -> TransformedDistribution:
        extra = len(self._event_shape) - len(self.base_dist.event_shape)
        inner = self.base_dist.expand(undertow.Size(batch_shape) + self._event_shape[:extra])
        return TransformedDistribution(inner, self.transforms, validate_args=False)

    def _forward(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with undertow.no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._forward(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        event = len(self._event_shape)
        total: Any = 0.0
        y = value
        for transform in reversed(self.transforms):
            x = transform._inv_call(y)
            total = total - _sum_last(transform.log_abs_det_jacobian(x, y), event - transform.event_dim)
            y = x
        return total + _sum_last(self.base_dist.log_prob(y), event - len(self.base_dist.event_shape))

    def cdf(self, value: Tensor) -> Tensor:
        sign: Any = 1
        for transform in reversed(self.transforms):
            sign = sign * transform.sign
            value = transform._inv_call(value)
        below = self.base_dist.cdf(value)
        return sign * (below - 0.5) + 0.5

    def __repr__(self) -> str:
        return f"TransformedDistribution({self.base_dist}, {self.transforms})"
