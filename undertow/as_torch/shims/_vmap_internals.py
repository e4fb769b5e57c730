"""`torch._vmap_internals`: the older vmap, which autograd and its tests use."""

from __future__ import annotations

import undertow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["_vmap", "vmap"]


def _vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False) -> Callable[..., Any]:
    """Return a function that maps `func` over a dimension of its arguments; an output of None stays None if that is allowed."""
    if not allow_none_pass_through:
        return undertow.vmap(func, in_dims, out_dims)

    def mapped(*args: Any) -> Any:
        missing: list[bool] = []

        def present(*args: Any) -> Any:
            outputs = func(*args)
            several = outputs if isinstance(outputs, tuple) else (outputs,)
            missing[:] = [o is None for o in several]
            return tuple(o for o in several if o is not None)

        found = iter(undertow.vmap(present, in_dims, out_dims)(*args))
        outputs = tuple(None if no else next(found) for no in missing)
        return outputs if len(outputs) > 1 else outputs[0]

    return mapped


vmap = _vmap
