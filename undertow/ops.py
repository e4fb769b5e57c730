"""Operators by namespace and name: `ops.mylib.name` of what a program made with `library.custom_op`."""

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
            raise AttributeError(f"no operator {self.name}::{name}; library.custom_op makes one", name=name, obj=self) from None


def load_library(path: str) -> None:
    """Refuses, as torch refuses a library that cannot be loaded: what is compiled against PyTorch's C++ needs PyTorch."""
    from undertow import library

    library._refused.append(path)
    raise OSError(f"{path}: operators compiled for PyTorch cannot be loaded: there is no libtorch here")


def __getattr__(name: str) -> _Namespace:
    from undertow.library import _ops

    if any(op.startswith(f"{name}::") for op in _ops):
        return _Namespace(name)
    raise AttributeError(f"module 'undertow.ops' has no operators of the namespace {name!r}")
