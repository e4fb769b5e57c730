"""Distributions of transformed variables."""

from __future__ import annotations

import undertow
from undertow.distributions import constraints
from undertow.distributions.distribution import Distribution
from undertow.distributions.independent import Independent
from undertow.distributions.transforms import ComposeTransform, Transform
from undertow.distributions.utils import sum_last

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from undertow import Tensor

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of a variable after one or more transforms.

    >>> import undertow as ut
    >>> from undertow.distributions import Normal, TanhTransform
    >>> TransformedDistribution(Normal(0.0, 1.0), [TanhTransform()]).log_prob(ut.tensor(0.0))
    tensor(-0.9189)
    """

    transforms: list[Transform]

    def __init__(self, base_distribution: Distribution, transforms: Transform | Iterable[Transform], validate_args: bool | None = None) -> None:
        if not isinstance(transforms, Transform) and not hasattr(transforms, "__iter__"):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        if not all(isinstance(t, Transform) for t in self.transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        transform = ComposeTransform(self.transforms)
        shape = base_distribution.batch_shape + base_distribution.event_shape
        if len(shape) < transform.domain.event_dim:
            raise ValueError(f"base_distribution needs to have shape with size at least {transform.domain.event_dim}, but got {shape}.")
        forward = undertow.Size(transform.forward_shape(shape))
        grown = undertow.Size(transform.inverse_shape(forward))
        if shape != grown:  # the transforms' parameters have a larger shape
            base_distribution = base_distribution.expand(grown[: len(grown) - len(base_distribution.event_shape)])
        reinterpreted = transform.domain.event_dim - len(base_distribution.event_shape)
        self.base_dist: Any = Independent(base_distribution, reinterpreted) if reinterpreted > 0 else base_distribution
        event = transform.codomain.event_dim + max(len(self.base_dist.event_shape) - transform.domain.event_dim, 0)
        cut = len(forward) - event
        super().__init__(forward[:cut], forward[cut:], validate_args=validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]  # as the base says
        return self.base_dist.has_rsample

    @constraints.dependent_property
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        last = self.transforms[-1].codomain
        extra = len(self._event_shape) - last.event_dim
        return constraints.independent(last, extra) if extra > 0 else last

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        shape = undertow.Size(batch_shape) + self._event_shape
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        inner = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        own = {k: v for k, v in vars(self).items() if k not in ("base_dist", "_batch_shape", "_event_shape", "_validate_args")}
        return self._like(_instance, batch_shape, self._event_shape, **{**own, "base_dist": inner})

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
        if self._validate_args:
            self._validate_sample(value)
        event = len(self._event_shape)
        total: Any = 0.0
        y = value
        for transform in reversed(self.transforms):
            x = transform._inv_call(y)
            event += transform.domain.event_dim - transform.codomain.event_dim
            total = total - sum_last(transform.log_abs_det_jacobian(x, y), event - transform.domain.event_dim)
            y = x
        return total + sum_last(self.base_dist.log_prob(y), event - len(self.base_dist.event_shape))

    def _monotonized(self, value: Tensor) -> Tensor:
        """Return 1 - value where the transforms are decreasing."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform._inv_call(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonized(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._forward(self.base_dist.icdf(self._monotonized(value)))
