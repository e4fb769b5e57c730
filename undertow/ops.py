"""Operators by namespace and name: `ops.mylib.name` for operators created with `library.custom_op`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Namespace:
    """The operators of one namespace, as attributes."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> Any:
        from undertow.library import _ops

        try:
            return _ops[f"{self.name}::{name}"]
        except KeyError:
            raise AttributeError(f"no operator {self.name}::{name}; create it with library.custom_op", name=name, obj=self) from None


def load_library(path: str) -> None:
    """Raise, as torch does for a library that cannot be loaded: libraries compiled against PyTorch's C++ need PyTorch."""
    from undertow import library

    library._unloadable.append(path)
    raise OSError(f"{path}: operators compiled for PyTorch cannot be loaded without libtorch")


def __getattr__(name: str) -> _Namespace:
    from undertow.library import _ops

    if any(op.startswith(f"{name}::") for op in _ops):
        return _Namespace(name)
    raise AttributeError(f"module 'undertow.ops' has no operators of the namespace {name!r}")
