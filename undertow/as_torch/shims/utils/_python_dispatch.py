"""`torch.utils._python_dispatch`: queries about wrapper subclasses, of which there are none, and modes, of which none is active."""

from __future__ import annotations

import contextlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["_disable_current_modes", "_get_current_dispatch_mode", "is_traceable_wrapper_subclass"]


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Return False: no class has tensors inside that a compiler must see."""
    return False


def _get_current_dispatch_mode() -> None:
    """Return None: no mode is active."""


@contextlib.contextmanager
def _disable_current_modes() -> Iterator[list[Any]]:
    """Context manager without effect."""
    yield []
