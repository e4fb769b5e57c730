"""`torch._functorch.vmap`: vmap, and the checks that programs which build their own transforms import."""

from __future__ import annotations

from typing import Any

from undertow._C import Tensor
from undertow.as_torch.shims.utils._pytree import _broadcast_to_and_flatten
from undertow.func import vmap
from undertow.utils._pytree import TreeSpec, tree_flatten, tree_map_, tree_unflatten

__all__ = [
    "Tensor", "TreeSpec", "_as_tuple", "_broadcast_to_and_flatten", "_get_name", "_num_outputs", "in_dims_t", "out_dims_t", "tree_flatten",
    "tree_map_", "tree_unflatten", "vmap",
]  # fmt: skip

in_dims_t = int | tuple[Any, ...]
out_dims_t = int | tuple[int, ...]


def _get_name(func: Any) -> str:
    return func.__name__ if hasattr(func, "__name__") else repr(func)


def _as_tuple(value: Any, num_elements: int, error_message_lambda: Any) -> tuple[Any, ...]:
    """Return the value as a tuple of so many elements."""
    if not isinstance(value, tuple):
        return (value,)
    if len(value) != num_elements:
        raise ValueError(error_message_lambda())
    return value


def _num_outputs(batched_outputs: Any) -> int:
    return len(batched_outputs) if isinstance(batched_outputs, tuple) else 1
