"""`torch.utils._import_utils`: check whether an optional module is installed, without importing it."""

from __future__ import annotations

import functools
import importlib.util

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


@functools.cache
def _check_module_exists(name: str) -> bool:
    """Return True if the module `name` can be found.

    >>> _check_module_exists("numpy"), _check_module_exists("no_such_module")
    (True, False)
    """
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


@functools.cache
def dill_available() -> bool:
    """Return True if dill is installed."""
    return _check_module_exists("dill")


@functools.cache
def import_dill() -> ModuleType | None:
    """Return the module dill, or None."""
    if not dill_available():
        return None
    return importlib.import_module("dill")
