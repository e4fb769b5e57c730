"""`torch._functorch.vmap`: vmap, and the checks that programs which build their own transforms import."""

from __future__ import annotations

import sys
from typing import Any

from undertow._C import Tensor
from undertow._vmap import _api
from undertow._vmap._api import _create_batched_inputs, _maybe_remove_batch_dim, _process_batched_inputs, _unwrap_batched
from undertow.as_torch.shims._C._functorch import _add_batch_dim, _remove_batch_dim, is_batchedtensor
from undertow.as_torch.shims.utils._pytree import _broadcast_to_and_flatten
from undertow.func import vmap
from undertow.utils._pytree import TreeSpec, tree_flatten, tree_map_, tree_unflatten

__all__ = [
    "Tensor", "TreeSpec", "_add_batch_dim", "_as_tuple", "_broadcast_to_and_flatten", "_create_batched_inputs", "_get_name",
    "_maybe_remove_batch_dim", "_num_outputs", "_process_batched_inputs", "_remove_batch_dim", "_unwrap_batched", "_validate_and_get_batch_size",
    "get_chunk_sizes", "in_dims_t", "is_batchedtensor", "out_dims_t", "tree_flatten", "tree_map_", "tree_unflatten", "vmap",
]  # fmt: skip

in_dims_t = int | tuple[Any, ...]
out_dims_t = int | tuple[int, ...]


def _get_name(func: Any) -> str:
    return func.__name__ if hasattr(func, "__name__") else repr(func)


def _as_tuple(value: Any, num_elements: int, error_message_lambda: Any) -> tuple[Any, ...]:
    """Return the value as a tuple of so many elements."""
    if not isinstance(value, tuple):
        return (value,) * num_elements
    if len(value) != num_elements:
        raise ValueError(error_message_lambda())
    return value


def _num_outputs(batched_outputs: Any) -> int:
    return len(batched_outputs) if isinstance(batched_outputs, tuple) else 1


def _validate_and_get_batch_size(flat_in_dims: list[int | None], flat_args: list[Any]) -> int:
    """Return the size of the dimensions that are mapped over, which must be equal."""
    sizes = [x.size(d) for d, x in zip(flat_in_dims, flat_args, strict=True) if d is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(set(sizes)) > 1:
        raise ValueError(f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped dimension")
    return sizes[0]


def get_chunk_sizes(total_elems: int, chunk_size: int) -> list[int]:
    """Return the sizes of chunks; the last one may be smaller."""
    whole, rest = divmod(total_elems, chunk_size)
    return [chunk_size] * whole + [rest] * bool(rest)


_api.steps = sys.modules[__name__]  # torch.vmap calls what programs assign to the names of this module
