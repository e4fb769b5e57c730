"""`torch._tensor`: the class Tensor, and the function that rebuilds subclasses from files."""

from __future__ import annotations

from undertow import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Tensor", "_rebuild_from_type_v2"]


def _rebuild_from_type_v2(func: Any, new_type: type, args: tuple[Any, ...], state: Any) -> Any:
    """Create a tensor of a class, with attributes."""
    from undertow._pickle import _set_state

    t: Any = func(*args)
    t = t if type(t) is new_type else t.as_subclass(new_type)
    _set_state(t, state)
    return t
