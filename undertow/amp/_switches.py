"""Functions that read and set the state of autocast outside of its `with` block, as torch extensions do."""

from __future__ import annotations

from undertow.amp.autocast_mode import _state, get_autocast_dtype, is_autocast_enabled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def clear_autocast_cache() -> None:
    """Do nothing: there is no cache; a cast weight belongs to its graph."""


def is_autocast_cache_enabled() -> bool:
    """Return True, which is torch's default."""
    return True


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Do nothing: there is no cache."""


def is_autocast_cpu_enabled() -> bool:
    """Return True if autocast is enabled for the CPU."""
    return is_autocast_enabled("cpu")


def get_autocast_cpu_dtype() -> Any:
    """Return the dtype autocast uses on the CPU."""
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> Any:
    """Return the dtype autocast would use on a GPU."""
    return get_autocast_dtype("cuda")


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    """Set autocast's dtype for the device type; an `autocast` block has its own dtype."""
    _state()[device_type] = (is_autocast_enabled(device_type), dtype)


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Enable or disable autocast for a device type; the older form with one argument is for GPUs."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    _state()[device_type] = (enabled, get_autocast_dtype(device_type))


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Enable or disable autocast for the CPU."""
    set_autocast_enabled("cpu", enabled)


def set_autocast_cpu_dtype(dtype: Any) -> None:
    """Set the dtype autocast uses on the CPU."""
    set_autocast_dtype("cpu", dtype)
