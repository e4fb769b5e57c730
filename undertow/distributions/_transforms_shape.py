"""Transforms composed of other transforms, over more dimensions or over parts of one, and a transform that reshapes."""

from __future__ import annotations

import undertow
from undertow.distributions import constraints
from undertow.distributions.transforms import Transform
from undertow.distributions.utils import sum_last

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from undertow import Size, Tensor


class IndependentTransform(Transform):
    """A transform that treats additional last dimensions as one event."""

    base_transform: Transform
    reinterpreted_batch_ndims: int

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.base_transform, self.reinterpreted_batch_ndims = base_transform.with_cache(cache_size), reinterpreted_batch_ndims

    @property
    def domain(self) -> constraints.Constraint:
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @property
    def codomain(self) -> constraints.Constraint:
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def with_cache(self, cache_size: int = 1) -> Transform:
        same = self._cache_size == cache_size
        return self if same else IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size)

    def _parameters(self) -> tuple[Any, ...]:
        return self.base_transform, self.reinterpreted_batch_ndims

    def _call(self, x: Tensor) -> Tensor:
        if x.dim() < self.domain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        if y.dim() < self.codomain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform._inv_call(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return sum_last(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Any) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ReshapeTransform(Transform):
    """Reshapes the last dimensions."""

    if TYPE_CHECKING:
        in_shape: Size
        out_shape: Size
    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = undertow.Size(in_shape), undertow.Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size)

    @property
    def domain(self) -> constraints.Constraint:
        return constraints.independent(constraints.real, len(self.in_shape))

    @property
    def codomain(self) -> constraints.Constraint:
        return constraints.independent(constraints.real, len(self.out_shape))

    def _parameters(self) -> tuple[Any, ...]:
        return self.in_shape, self.out_shape

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def _swapped(self, shape: Any, before: Any, after: Any) -> Any:
        if len(shape) < len(before):
            raise ValueError("Too few dimensions on input")
        cut = len(shape) - len(before)
        if tuple(shape[cut:]) != tuple(before):
            raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {before}")
        return tuple(shape[:cut]) + tuple(after)

    def forward_shape(self, shape: Any) -> Any:
        return self._swapped(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._swapped(shape, self.out_shape, self.in_shape)


class _Parts(Transform):
    """Applies one transform to each part of a dimension."""

    transforms: list[Transform]
    dim: int

    def _cut(self, x: Tensor) -> list[Tensor]:
        raise NotImplementedError

    def _joined(self, parts: list[Tensor]) -> Tensor:
        raise NotImplementedError

    @property
    def bijective(self) -> bool:
        return all(t.bijective for t in self.transforms)

    def _parameters(self) -> tuple[Any, ...]:
        return self.transforms, self.dim

    def _call(self, x: Tensor) -> Tensor:
        return self._joined([t(part) for t, part in zip(self.transforms, self._cut(x), strict=True)])

    def _inverse(self, y: Tensor) -> Tensor:
        return self._joined([t._inv_call(part) for t, part in zip(self.transforms, self._cut(y), strict=True)])


class CatTransform(_Parts):
    """Applies transforms to consecutive parts along a dimension."""

    transforms: list[Transform]
    lengths: list[int]

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq]
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths length {len(self.lengths)} must equal transforms length {len(self.transforms)}")
        self.dim = dim

    @property
    def length(self) -> int:
        """The total length of all parts."""
        return sum(self.lengths)

    @property
    def event_dim(self) -> int:
        return max(t.event_dim for t in self.transforms)

    @property
    def domain(self) -> constraints.Constraint:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @property
    def codomain(self) -> constraints.Constraint:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _cut(self, x: Tensor) -> list[Tensor]:
        return list(x.split(self.lengths, self.dim))

    def _joined(self, parts: list[Tensor]) -> Tensor:
        return undertow.cat(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        slopes = []
        for t, a, b in zip(self.transforms, self._cut(x), self._cut(y), strict=True):
            slopes.append(sum_last(t.log_abs_det_jacobian(a, b), self.event_dim - t.domain.event_dim))
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        return undertow.cat(slopes, dim=dim) if dim < 0 else sum(slopes)  # type: ignore[return-value]  # there is at least one


class StackTransform(_Parts):
    """Applies one transform to each slice along a dimension."""

    transforms: list[Transform]
    dim: int

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size)
        self.transforms, self.dim = [t.with_cache(cache_size) for t in tseq], dim

    @property
    def domain(self) -> constraints.Constraint:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @property
    def codomain(self) -> constraints.Constraint:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _cut(self, x: Tensor) -> list[Tensor]:
        return list(x.unbind(self.dim))

    def _joined(self, parts: list[Tensor]) -> Tensor:
        return undertow.stack(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        parts = zip(self.transforms, self._cut(x), self._cut(y), strict=True)
        return undertow.stack([t.log_abs_det_jacobian(a, b) for t, a, b in parts], dim=self.dim)
