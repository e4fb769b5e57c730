"""Tensors in files: `save` and `load`, for PyTorch's `.pt` files and for safetensors, neither of which can run code."""

from undertow.serialization._api import MAP_LOCATION, FileLike, load, save
from undertow.serialization._safe import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals

FILE_LIKE = FileLike

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]
