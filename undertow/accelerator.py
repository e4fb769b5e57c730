"""The machine's accelerator, as `torch.accelerator`: there is none."""

from undertow._no_device import answer

__all__ = ["current_accelerator", "device_count", "is_available", "synchronize"]

is_available = answer("is_available", False)
device_count = answer("device_count", 0)
current_accelerator = answer("current_accelerator", None)
empty_cache = answer("empty_cache", None)


def _none(*args: object, **kwargs: object) -> object:
    """Raises: there is no accelerator."""
    raise RuntimeError("Cannot access accelerator device when none is available.")


synchronize = current_device_index = set_device_index = current_stream = set_stream = _none
memory_allocated = max_memory_allocated = memory_reserved = max_memory_reserved = memory_stats = get_memory_info = _none
reset_peak_memory_stats = reset_accumulated_memory_stats = get_device_capability = _none
