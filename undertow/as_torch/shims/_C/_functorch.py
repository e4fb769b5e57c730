"""`torch._C._functorch`: questions about the tensors inside of vmap, and the two steps into and out of it.

Here the batch of a batched tensor is always the first dimension of its value.
"""

from __future__ import annotations

from undertow import _C
from undertow._C import Tensor
from undertow._vmap import _levels
from undertow._vmap._api import add_batch_dim as _add_batch_dim
from undertow._vmap._api import remove_batch_dim as _remove_batch_dim

__all__ = [
    "_add_batch_dim",
    "_remove_batch_dim",
    "get_unwrapped",
    "is_batchedtensor",
    "is_functorch_wrapped_tensor",
    "is_gradtrackingtensor",
    "maybe_current_level",
    "maybe_get_bdim",
    "maybe_get_level",
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
