"""The CPU as a device, as `torch.cpu`: always there, one of it, nothing to wait for."""

from __future__ import annotations

from undertow._absent_devices import NoContext, answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

is_available = answer("is_available", True)
is_initialized = answer("is_initialized", True)
device_count = answer("device_count", 1)
current_device = answer("current_device", "cpu")
set_device = answer("set_device", None)
synchronize = answer("synchronize", None)


class Stream(NoContext):
    """The order in which the program runs."""

    def wait_stream(self, stream: Any) -> None:
        """Nothing to wait for."""

    record_event = wait_event = wait_stream


class Event:
    """A point in the order in which the program runs: always reached."""

    def query(self) -> bool:
        """True."""
        return True

    def record(self, stream: Any = None) -> None:
        """Nothing to note."""

    def synchronize(self) -> None:
        """Nothing to wait for."""

    wait = record


class StreamContext(NoContext):
    """Enters without effect."""


def current_stream(device: Any = None) -> Stream:
    """The only one."""
    return Stream()


def stream(stream: Any) -> StreamContext:
    """A context without effect."""
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
