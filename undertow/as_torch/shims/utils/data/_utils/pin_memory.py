"""Where torch has the function that pins a batch."""

from undertow.utils.data._pin import pin_memory

__all__ = ["pin_memory"]
