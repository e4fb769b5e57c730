"""`torch._export.wrappers`: decorators that mark code for export, which has no effect here."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["mark_subclass_constructor_exportable_experimental"]


def mark_subclass_constructor_exportable_experimental(constructor: Callable[..., Any]) -> Callable[..., Any]:
    """Return the constructor of a tensor class unchanged."""
    return constructor
