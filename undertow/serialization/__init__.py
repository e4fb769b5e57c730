"""`save` and `load` for PyTorch's `.pt` files and for safetensors; loading runs no code from a file, unless weights_only=False is given.

Additional functions and classes that a file may use must be allowed explicitly: `add_safe_globals`.
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
if not TYPE_CHECKING:  # a type checker that saw it would accept every name
    __getattr__ = _explain_missing(__name__)
