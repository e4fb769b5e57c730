"""The state of autocast outside of its block: reading it, and switching it as torch's extensions do."""

from __future__ import annotations

from undertow.amp.autocast_mode import _state, get_autocast_dtype, is_autocast_enabled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def clear_autocast_cache() -> None:
    """Nothing is cached: a cast weight belongs to its graph."""


def is_autocast_cache_enabled() -> bool:
    """True, as torch says when it has not been told otherwise."""
    return True


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Changes nothing: there is no cache."""


def is_autocast_cpu_enabled() -> bool:
    """Whether autocast is on for the CPU."""
    return is_autocast_enabled("cpu")


def get_autocast_cpu_dtype() -> Any:
    """The dtype autocast computes in on the CPU."""
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> Any:
    """The dtype autocast would compute in on a GPU."""
    return get_autocast_dtype("cuda")


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    """Chooses the dtype for the device type; a block of autocast has its own."""
    _state()[device_type] = (is_autocast_enabled(device_type), dtype)


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Switches autocast on or off for a device type; with one argument, for GPUs, as older programs do."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    _state()[device_type] = (enabled, get_autocast_dtype(device_type))


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Switches autocast on or off for the CPU."""
    set_autocast_enabled("cpu", enabled)


def set_autocast_cpu_dtype(dtype: Any) -> None:
    """Chooses the dtype autocast computes in on the CPU."""
    set_autocast_dtype("cpu", dtype)
