"""`torch._C._functorch`: questions about the tensors inside of vmap, and the two steps into and out of it.

Here the batch of a batched tensor is always the first dimension of its value.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from undertow import _C
from undertow._C import Tensor
from undertow._vmap import _levels
from undertow._vmap._api import add_batch_dim as _add_batch_dim
from undertow._vmap._api import remove_batch_dim as _remove_batch_dim

__all__ = [
    "_add_batch_dim",
    "_is_vmap_fallback_enabled",
    "_remove_batch_dim",
    "_set_vmap_fallback_enabled",
    "_set_vmap_fallback_warning_enabled",
    "_vmap_decrement_nesting",
    "_vmap_increment_nesting",
    "get_dynamic_layer_stack_depth",
    "get_unwrapped",
    "is_batchedtensor",
    "is_functorch_wrapped_tensor",
    "is_gradtrackingtensor",
    "maybe_current_level",
    "maybe_get_bdim",
    "maybe_get_level",
    "reshape_dim_into",
    "reshape_dim_outof",
]


def is_batchedtensor(tensor: Tensor) -> bool:
    """Return True inside of vmap, for a tensor that has a value for each sample."""
    return _C._batched_level(tensor) >= 0


def is_gradtrackingtensor(tensor: Tensor) -> bool:
    """Return False: transforms that differentiate use the tensors' own history."""
    return False


is_functorch_wrapped_tensor = is_batchedtensor


def get_unwrapped(tensor: Tensor) -> Tensor:
    """Return the value of a batched tensor for all samples."""
    if not is_batchedtensor(tensor):
        raise RuntimeError("No wrappers present!")
    return _C._batched_value(tensor)


def maybe_get_bdim(tensor: Tensor) -> int:
    """Return the batch dimension of a batched tensor, otherwise -1."""
    return 0 if is_batchedtensor(tensor) else -1


def maybe_get_level(tensor: Tensor) -> int:
    """Return the level of a batched tensor, otherwise -1."""
    return _C._batched_level(tensor)


def maybe_current_level() -> int | None:
    """Return the level of the innermost transform, or None outside of all."""
    levels = _levels._stack.levels
    return levels[-1].number if levels else None


def get_dynamic_layer_stack_depth() -> int:
    """Return the number of active transforms."""
    return len(_levels._stack.levels)


_entered: list[AbstractContextManager[Any]] = []


def _vmap_increment_nesting(batch_size: int, randomness: str) -> int:
    """Start a level of vmap; return its number."""
    level = _levels.running(batch_size, randomness)
    number = level.__enter__().number
    _entered.append(level)
    return number


def _vmap_decrement_nesting() -> int:
    """End the level of vmap that was started last; return its number."""
    number = maybe_current_level()
    if not _entered or number is None:
        raise RuntimeError("_vmap_decrement_nesting: no level was started with _vmap_increment_nesting")
    _entered.pop().__exit__(None, None, None)
    return number


def reshape_dim_into(src: int, dst: int, x: Tensor) -> Tensor:
    """Merge the dimension `src` into the dimension `dst`, which is counted after `src` is removed."""
    src %= x.dim()
    moved = x.movedim(src, dst % (x.dim() - 1))
    at = dst % (x.dim() - 1)
    return moved.flatten(at, at + 1)


def reshape_dim_outof(src: int, size1: int, x: Tensor) -> Tensor:
    """Split the dimension `src` into one of `size1` and the rest."""
    src %= x.dim()
    if x.size(src) % size1:
        raise RuntimeError(f"reshape_dim_outof: dimension {src} of size {x.size(src)} is not a multiple of {size1}")
    return x.unflatten(src, (size1, x.size(src) // size1))


def _set_vmap_fallback_warning_enabled(enabled: bool) -> None:
    """Do nothing: there is no slow path to warn about."""


def _set_vmap_fallback_enabled(enabled: bool) -> None:
    """Do nothing: there is no slow path to disable."""


def _is_vmap_fallback_enabled() -> bool:
    """Return True, torch's default."""
    return True
