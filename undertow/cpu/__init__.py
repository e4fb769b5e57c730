"""The CPU as a device, like `torch.cpu`: one device, always available, without asynchronous work."""

from __future__ import annotations

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


__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "current_device",
    "current_stream",
    "device_count",
    "is_available",
    "set_device",
    "stream",
    "synchronize",
]
