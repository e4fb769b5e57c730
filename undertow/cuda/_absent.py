"""The functions of `torch.cuda` as a build without CUDA answers them. See undertow/_absent_devices.py."""

from __future__ import annotations

from undertow._absent_devices import NoContext, fill

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_names = fill("cuda", globals())


class device(NoContext):
    """Enters without effect, as a build without CUDA has it."""


device_of = StreamContext = device


def stream(stream: Any) -> device:
    """A context without effect."""
    return device()


class Stream:
    """Cannot be made: there is no device to queue work on."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(f"torch.cuda.{type(self).__name__} requires CUDA support; this build of Undertow computes on the CPU only")


class Event(Stream):
    """Cannot be made: there is no device to wait for."""


class CUDAGraph(Stream):
    """Cannot be made: there is no device to record."""


class graph(Stream):
    """Cannot be made: there is no device to record."""


class OutOfMemoryError(RuntimeError):
    """What a device without memory would raise; nothing raises it here."""


default_generators: tuple[Any, ...] = ()
has_half = has_magma = False

__all__ = [
    *_names,
    "CUDAGraph",
    "Event",
    "OutOfMemoryError",
    "Stream",
    "StreamContext",
    "default_generators",
    "device",
    "device_of",
    "graph",
    "has_half",
    "has_magma",
    "stream",
]
