"""NCCL, which moves the tensors of GPUs between processes: whether it is there, and its version. undertow.distributed uses it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from undertow import Tensor

__all__ = ["is_available", "version"]


def is_available(tensors: Sequence[Tensor]) -> bool:
    """Return True if NCCL is installed and can move the tensors: they are contiguous, each on a GPU of its own."""
    from undertow.distributed._groups.links import nccl_is_usable

    on_gpus = all(tensor.is_cuda and tensor.is_contiguous() for tensor in tensors)
    return on_gpus and len({tensor.device for tensor in tensors}) == len(tensors) and nccl_is_usable()


def version() -> tuple[int, int, int]:
    """Return the version of NCCL, such as (2, 27, 3); raise if it is not installed."""
    from undertow.distributed._transports.nccl_library import library

    number = library().version
    return number // 10000, number // 100 % 100, number % 100
