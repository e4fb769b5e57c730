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


synchronize = current_device_index = set_device_index = current_stream = _none
