"""`torch.ops.aten` under torch's private names: adds the functions of _aten_functions.py and of `torch` itself to undertow/ops.py.

Libraries name operators of torch in tables for `__torch_dispatch__`. Those that Undertow lacks exist as objects, and calling them raises;
their names are in `aten_names.txt` (`python -m tools.aten_schemas` writes it).
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__: list[str] = []


_names: set[str] = set()


def is_torchs(name: str) -> bool:
    """Return True if torch has an operator of this name that has no schema here."""
    if not _names:
        with open(os.path.join(os.path.dirname(__file__), "aten_names.txt"), encoding="ascii") as file:
            _names.update(file.read().split())
    return name in _names


def find(name: str) -> Any:
    """Return the function that only programs written for torch know by this name."""
    from undertow.as_torch import shims
    from undertow.as_torch.shims import _aten_functions

    return vars(_aten_functions).get(name) or getattr(shims, name, None)
