"""Tensors in files: `save` and `load`, for PyTorch's `.pt` files and for safetensors, neither of which can run code.

Functions and classes that a file may name all the same are allowed one by one: `add_safe_globals`.
"""

from undertow._lazy import explain_missing as _explain_missing
from undertow.serialization._allowed import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from undertow.serialization._api import default_restore_location, get_unsafe_globals_in_checkpoint, load, location_tag, save

__all__ = [
    "add_safe_globals",
    "clear_safe_globals",
    "default_restore_location",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "safe_globals",
    "save",
]

TYPE_CHECKING = False
if not TYPE_CHECKING:  # a checker that saw it would let every name pass
    __getattr__ = _explain_missing(__name__)
