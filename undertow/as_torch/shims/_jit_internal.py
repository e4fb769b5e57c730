"""Private names of torch.jit that libraries import. Nothing is compiled, so decorators return their function."""

from __future__ import annotations

from undertow.as_torch.shims.jit import Final as Final
from undertow.as_torch.shims.jit import export as export
from undertow.as_torch.shims.jit import ignore as ignore
from undertow.as_torch.shims.jit import is_scripting as is_scripting
from undertow.as_torch.shims.jit import unused as unused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Final", "_copy_to_script_wrapper", "_overload", "_overload_method", "export", "ignore", "is_scripting", "unused"]


def _copy_to_script_wrapper(fn: Any) -> Any:
    """Return the function unchanged: there are no compiled modules that would need a copy of it."""
    return fn


_overload = _overload_method = _copy_to_script_wrapper
