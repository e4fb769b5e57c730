"""The CPU as a device, like `torch.cpu`: one device, always available, without asynchronous work; and figures about its memory."""

from __future__ import annotations

from undertow import _C
from undertow._absent_devices import NoContext, answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

is_available: Callable[..., bool] = answer("is_available", True)
is_initialized: Callable[..., bool] = answer("is_initialized", True)
device_count: Callable[..., int] = answer("device_count", 1)
current_device: Callable[..., str] = answer("current_device", "cpu")
set_device: Callable[..., None] = answer("set_device", None)
synchronize: Callable[..., None] = answer("synchronize", None)


class Stream(NoContext):
    """The only stream: operations run in program order."""

    def wait_stream(self, stream: Any) -> None:
        """Do nothing: there is nothing to wait for."""

    record_event = wait_stream
    wait_event = wait_stream


class Event:
    """A point in the stream, always completed."""

    def query(self) -> bool:
        """Return True."""
        return True

    def record(self, stream: Any = None) -> None:
        """Do nothing."""

    def synchronize(self) -> None:
        """Do nothing: there is nothing to wait for."""

    wait = record


class StreamContext(NoContext):
    """Context manager without effect."""


def current_stream(device: Any = None) -> Stream:
    """Return the only stream."""
    return Stream()


def stream(stream: Any) -> StreamContext:
    """Return a context manager without effect."""
    return StreamContext()


def memory_stats(device: Any = None) -> dict[str, int]:
    """Return the figures of the CPU's allocator, with the names of `undertow.cuda.memory_stats`.

    "allocated" is what tensors have, rounded up by at most an eighth; "reserved" also what is kept for reuse. Tensors below 256 bytes
    come from a pool of small objects, which is not counted.

    >>> import undertow as ut
    >>> x = ut.zeros(1000, 1000)
    >>> ut.cpu.memory_stats()["allocated_bytes.all.current"] >= 4_000_000
    True
    """
    found = _C._memory_stats()
    in_use = found["in_use"]
    reserved = in_use + found["cached"]
    return {"allocated_bytes.all.current": in_use, "allocated_bytes.all.peak": found["peak_in_use"], "reserved_bytes.all.current": reserved}


def memory_allocated(device: Any = None) -> int:
    """Return the bytes that tensors have."""
    return memory_stats()["allocated_bytes.all.current"]


def max_memory_allocated(device: Any = None) -> int:
    """Return the most bytes that tensors had, since the beginning or `reset_peak_memory_stats`."""
    return memory_stats()["allocated_bytes.all.peak"]


def memory_reserved(device: Any = None) -> int:
    """Return the bytes that the allocator has from the system, for tensors and for reuse."""
    return memory_stats()["reserved_bytes.all.current"]


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let the peak start again from the current figure."""
    _C._reset_peak_memory_stats()


def empty_cache() -> None:
    """Return memory that no tensor uses, and that is kept for reuse, to the system.

    Results are allocated anew afterwards, which costs time: it is for a program that has finished a large part of its work.
    """
    _C._empty_cache()


__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "current_device",
    "current_stream",
    "device_count",
    "empty_cache",
    "is_available",
    "max_memory_allocated",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_peak_memory_stats",
    "set_device",
    "stream",
    "synchronize",
]
