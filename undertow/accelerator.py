"""The kind of device that is not the CPU, whatever it is: here GPUs of NVIDIA, if there are any. The names are those of `torch.accelerator`."""

from __future__ import annotations

from undertow import _C, cuda

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "empty_cache",
    "get_device_capability",
    "get_memory_info",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]


def is_available() -> bool:
    """Return True if there is an accelerator that can be used."""
    return cuda.is_available()


def device_count() -> int:
    """Return the number of accelerators."""
    return cuda.device_count()


def current_accelerator(check_available: bool = False) -> _C.device | None:
    """Return the kind of accelerator as a device without a number, or None.

    >>> import undertow as ut
    >>> device = ut.accelerator.current_accelerator() or ut.device("cpu")
    """
    return _C.device("cuda") if cuda.is_available() else None


def _check() -> None:
    if not cuda.is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")


def current_device_index() -> int:
    """Return the number of the current accelerator."""
    _check()
    return cuda.current_device()


def set_device_index(device: Any, /) -> None:
    """Make an accelerator the current one."""
    _check()
    cuda.set_device(device)


current_device_idx, set_device_idx = current_device_index, set_device_index


def current_stream(device: Any = None, /) -> cuda.Stream:
    """Return the stream to which this thread issues work."""
    _check()
    return cuda.current_stream(device)


def set_stream(stream: cuda.Stream) -> None:
    """Make a stream the current one."""
    _check()
    cuda.set_stream(stream)


def synchronize(device: Any = None, /) -> None:
    """Wait until all work issued to an accelerator is done."""
    _check()
    cuda.synchronize(device)


def get_device_capability(device: Any = None, /) -> dict[str, Any]:
    """Return what an accelerator supports: its dtypes."""
    _check()
    names = ("float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "bool")
    return {"supported_dtypes": {getattr(_C, name) for name in names}}


def empty_cache() -> None:
    """Give cached memory that no tensor uses back to the driver."""
    cuda.empty_cache()


def memory_stats(device_index: Any = None, /) -> dict[str, int]:
    """Return the figures of the accelerator's allocator."""
    _check()
    return cuda.memory_stats(device_index)


def memory_allocated(device_index: Any = None, /) -> int:
    """Return the bytes that tensors have."""
    _check()
    return cuda.memory_allocated(device_index)


def max_memory_allocated(device_index: Any = None, /) -> int:
    """Return the most bytes that tensors had."""
    _check()
    return cuda.max_memory_allocated(device_index)


def memory_reserved(device_index: Any = None, /) -> int:
    """Return the bytes that the allocator has from the driver."""
    _check()
    return cuda.memory_reserved(device_index)


def max_memory_reserved(device_index: Any = None, /) -> int:
    """Return the most bytes that the allocator had from the driver."""
    _check()
    return cuda.max_memory_reserved(device_index)


def reset_peak_memory_stats(device_index: Any = None, /) -> None:
    """Let the peaks start again from the current figures."""
    _check()
    cuda.reset_peak_memory_stats(device_index)


def reset_accumulated_memory_stats(device_index: Any = None, /) -> None:
    """Set the figures of what was allocated and freed in all to 0."""
    _check()
    cuda.reset_accumulated_memory_stats(device_index)


def get_memory_info(device_index: Any = None, /) -> tuple[int, int]:
    """Return the free bytes and all bytes, as the driver sees them."""
    _check()
    return cuda.mem_get_info(device_index)


class device_index:
    """Context manager that makes an accelerator the current one; None changes nothing."""

    def __init__(self, device: int | None, /) -> None:
        self.idx = device
        self._context = cuda.device(device)

    def __enter__(self) -> None:
        self._context.__enter__()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._context.__exit__(kind, error, trace)
