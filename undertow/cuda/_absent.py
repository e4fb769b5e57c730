"""The functions of `torch.cuda` in a build without CUDA. See undertow/_absent_devices.py."""

from __future__ import annotations

from undertow._absent_devices import NoContext, fill

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_names = fill("cuda", globals())


class device(NoContext):
    """Context manager without effect, as in a torch build without CUDA."""


device_of = StreamContext = device


def stream(stream: Any) -> device:
    """Return a context manager without effect."""
    return device()


class Stream:
    """Cannot be created: there is no CUDA device."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(f"torch.cuda.{type(self).__name__} requires CUDA support; this build of Undertow computes on the CPU only")


class Event:
    """Cannot be created: there is no CUDA device."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(f"Tried to instantiate dummy base class {type(self).__name__}; this build of Undertow computes on the CPU only")


class CUDAGraph(Event):
    """Cannot be created: there is no CUDA device."""


class graph(Stream):
    """Cannot be created: there is no CUDA device."""


class OutOfMemoryError(RuntimeError):
    """The exception of a CUDA device out of memory; never raised."""


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
