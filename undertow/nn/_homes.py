"""Names that torch has in one module and we keep in another: found there when they are asked for.

So `torch.nn.modules.conv.LazyConv2d` can be imported and unpickled, and no file imports a later one.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def kept_elsewhere(module: str, places: dict[str, str]) -> Callable[[str], Any]:
    """A module's `__getattr__`, given the module that keeps each name.

    >>> from undertow.nn.modules import conv
    >>> conv.LazyConv1d.__name__
    'LazyConv1d'
    """
    where = {name: place for place, names in places.items() for name in names.split()}

    def __getattr__(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return getattr(importlib.import_module(where[name]), name)

    return __getattr__
