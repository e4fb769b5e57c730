"""`torch.ops.aten` under torch's private names: adds the functions of _aten_functions.py and of `torch` itself to undertow/ops.py."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__: list[str] = []


def find(name: str) -> Any:
    """Return the function that only programs written for torch know by this name."""
    from undertow.as_torch import shims
    from undertow.as_torch.shims import _aten_functions

    return vars(_aten_functions).get(name) or getattr(shims, name, None)
