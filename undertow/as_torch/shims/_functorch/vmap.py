"""`torch._functorch.vmap`: vmap, and the checks that programs which build their own transforms import."""

from __future__ import annotations

import sys
from typing import Any

from undertow._C import Tensor
from undertow._vmap import _api
from undertow._vmap._api import _create_batched_inputs, _maybe_remove_batch_dim, _process_batched_inputs, _unwrap_batched
from undertow._vmap._levels import running
from undertow.as_torch.shims._C._functorch import _add_batch_dim, _remove_batch_dim, get_unwrapped, is_batchedtensor, maybe_get_level
from undertow.as_torch.shims.utils._pytree import _broadcast_to_and_flatten
from undertow.func import vmap
from undertow.utils._pytree import TreeSpec, tree_flatten, tree_map_, tree_unflatten

__all__ = [
    "Tensor", "TreeSpec", "_add_batch_dim", "_as_tuple", "_broadcast_to_and_flatten", "_create_batched_inputs", "_get_name",
    "_maybe_remove_batch_dim", "_num_outputs", "_process_batched_inputs", "_remove_batch_dim", "_unwrap_batched", "_validate_and_get_batch_size",
    "get_chunk_sizes", "in_dims_t", "is_batchedtensor", "out_dims_t", "restore_vmap", "tree_flatten", "tree_map_", "tree_unflatten",
    "unwrap_batched", "vmap", "wrap_batched",
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


def unwrap_batched(args: Any, level: int) -> tuple[Any, Any]:
    """Return the arguments without the batches of a level, and the batch dimension of each, None where there is none."""
    leaves, spec = tree_flatten(args)
    batched = [isinstance(x, Tensor) and maybe_get_level(x) == level for x in leaves]
    values = [get_unwrapped(x) if is_one else x for x, is_one in zip(leaves, batched, strict=True)]
    return tree_unflatten(values, spec), tree_unflatten([0 if is_one else None for is_one in batched], spec)


def wrap_batched(args: Any, bdims: Any, level: int) -> Any:
    """Return the arguments with batches of a level at the given dimensions."""
    leaves, spec = tree_flatten(args)
    dims = _broadcast_to_and_flatten(bdims, spec)
    if dims is None:
        raise ValueError(f"wrap_batched: the dimensions {bdims} do not match the structure of the arguments")
    return _create_batched_inputs(dims, leaves, level, spec)


def restore_vmap(func: Any, in_dims: Any, batch_size: int, randomness: str) -> Any:
    """Return a function that runs `func` under vmap and returns its outputs with the batches, and the batch dimension of each output."""

    def inner(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        with running(batch_size, randomness) as level:
            return unwrap_batched(func(*wrap_batched(args, in_dims, level.number), **kwargs), level.number)

    return inner


_api.steps = sys.modules[__name__]  # torch.vmap calls what programs assign to the names of this module
