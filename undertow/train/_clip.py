"""Clipping of tensors and of lists of gradients. All functions are differentiable, and accept `IndexedSlices` and None as gradients."""

from __future__ import annotations

import undertow
from undertow._C import Tensor
from undertow.train._slices import IndexedSlices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from undertow.train._gradients import Gradient


def _check_list(t_list: Any) -> None:
    if not isinstance(t_list, (list, tuple)):
        raise TypeError(f"t_list should be a sequence, got {type(t_list).__name__}")


def _changed(t: Any, change: Callable[[Tensor], Tensor]) -> Any:
    return t._with(change) if isinstance(t, IndexedSlices) else change(undertow.as_tensor(t))


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Any:
    """Clamp the elements of `t` to [clip_value_min, clip_value_max].

    >>> import undertow as ut
    >>> ut.train.clip_by_value(ut.tensor([-3.0, 0.5, 9.0]), -1.0, 1.0)
    tensor([-1.0000,  0.5000,  1.0000])
    """

    def bounded(v: Tensor) -> Tensor:
        low, high = undertow.as_tensor(clip_value_min, dtype=v.dtype), undertow.as_tensor(clip_value_max, dtype=v.dtype)
        out = undertow.maximum(undertow.minimum(v, high), low)
        if out.shape != v.shape:
            raise ValueError(f"clip_by_value: the bounds must broadcast to the shape {tuple(v.shape)}; the result has shape {tuple(out.shape)}")
        return out

    return _changed(t, bounded)


def clip_by_norm(t: Any, clip_norm: Any, axes: Sequence[int] | int | None = None, name: str | None = None) -> Any:
    """Scale `t` down if its Euclidean norm, over `axes` or in total, exceeds `clip_norm`.

    >>> import undertow as ut
    >>> ut.train.clip_by_norm(ut.tensor([3.0, 4.0]), 1.0)
    tensor([0.6000, 0.8000])
    """

    def scaled(v: Tensor) -> Tensor:
        square = (v * v).sum(list(range(v.dim())) if axes is None else axes, keepdim=True)
        # The square root has no finite derivative at zero; where the square is zero the norm is not used.
        some = square > 0
        norm = undertow.where(some, undertow.where(some, square, undertow.ones_like(square)).sqrt(), square)
        return v * clip_norm / undertow.maximum(norm, undertow.as_tensor(clip_norm, dtype=v.dtype))

    return _changed(t, scaled)


def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Tensor:
    """Scale `t` down if its Euclidean norm divided by its number of elements exceeds `clip_norm`."""
    v = undertow.as_tensor(t)
    return clip_by_norm(v, clip_norm * v.numel())


def global_norm(t_list: Sequence[Gradient], name: str | None = None) -> Tensor:
    """Return the Euclidean norm of all tensors together; None is ignored.

    >>> import undertow as ut
    >>> ut.train.global_norm([ut.tensor([3.0]), None, ut.tensor([[4.0]])])
    tensor(5.)
    """
    _check_list(t_list)
    values = [t.values if isinstance(t, IndexedSlices) else undertow.as_tensor(t) for t in t_list if t is not None]
    if not values:
        return undertow.tensor(0.0)
    total = (values[0] * values[0]).sum()
    for v in values[1:]:
        total = total + (v * v).sum()
    return total.sqrt()


def clip_by_global_norm(
    t_list: Sequence[Gradient], clip_norm: Any, use_norm: Tensor | None = None, name: str | None = None
) -> tuple[list[Gradient], Tensor]:
    """Scale all tensors by clip_norm / max(global norm, clip_norm); return them and the global norm, which `use_norm` provides if known.

    If the norm is not finite, all elements become nan.

    >>> import undertow as ut
    >>> ut.train.clip_by_global_norm([ut.tensor([3.0]), None, ut.tensor([4.0])], 1.0)
    ([tensor([0.6000]), None, tensor([0.8000])], tensor(5.))
    """
    _check_list(t_list)
    norm = global_norm(t_list) if use_norm is None else use_norm
    limit = undertow.as_tensor(clip_norm, dtype=norm.dtype)
    scale = limit * undertow.minimum(1.0 / norm, 1.0 / limit)
    scale = scale + (norm - norm)  # nan unless the norm is finite
    return [None if t is None else _changed(t, lambda v: v * scale.to(v.dtype)) for t in t_list], norm
