"""Operators by namespace and name: `ops.aten.add.Tensor` by torch's names, `ops.mylib.name` if `library.custom_op` or a C++ library defined it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from undertow._ops import OpOverloadPacket

_more_functions: Callable[[str], Any] | None = None  # finds functions by torch's private names; set by as_torch
_is_torchs: Callable[[str], bool] | None = None  # whether torch has an operator, which may be named although it cannot be called; set by as_torch


class _Aten:
    """The operators of torch's core, by torch's names."""

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name.startswith("__") and name.endswith("__") and name not in _SHIFTS:
            raise AttributeError(name)
        from undertow._aten._schema import texts
        from undertow._ops import OpOverloadPacket

        overloads, function = texts().get(name, {}), _function(name)
        if not overloads and function is None and not (_is_torchs is not None and _is_torchs(name)):
            raise AttributeError(f"there is no operator aten::{name}", name=name, obj=self)
        packet = self.__dict__[name] = OpOverloadPacket("aten", name, function, overloads)
        return packet

    def __contains__(self, name: str) -> bool:
        return hasattr(self, name)


_SHIFTS = ("__and__", "__or__", "__xor__", "__lshift__", "__rshift__", "__iand__", "__ior__", "__ixor__", "__ilshift__", "__irshift__")


def _function(name: str) -> Any:
    """Return the public function or method that has the name of an operator."""
    import undertow
    from undertow import _C

    prefix, _, rest = name.partition("_")
    home = getattr(undertow, prefix, None) if prefix in ("linalg", "special", "fft") else undertow
    places = (
        None if _more_functions is None else _more_functions(name),
        getattr(home, rest if home is not undertow else name, None),
        _C._ops.get(f"_nn.{name}"),
        getattr(undertow.nn.functional, name, None),
    )
    found = next((f for f in places if callable(f) and not isinstance(f, type)), None)
    return getattr(undertow.Tensor, name, None) if found is None else found


aten: _Aten = _Aten()


class _Namespace:
    """The operators of one namespace, as attributes."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> Any:
        from undertow.library import _named

        if name.startswith("__") or (found := _named(f"{self.name}::{name}")) is None:
            raise AttributeError(f"no operator {self.name}::{name}; create it with library.custom_op", name=name, obj=self)
        return found

    def __dir__(self) -> list[str]:
        from undertow import _C
        from undertow.library import _ops

        mine = f"{self.name}::"
        return sorted({n[len(mine) :].partition(".")[0] for n in (*_ops, *_C._library_names()) if n.startswith(mine)})


loaded_libraries: set[str] = set()


def load_library(path: str) -> None:
    """Load a library of operators that C++ code registers with `UNDERTOW_LIBRARY` (or, built under as_torch, `TORCH_LIBRARY`).

    Raises OSError for a library that was compiled against PyTorch, which cannot be loaded without it.
    """
    import ctypes
    import os

    from undertow import _C, library

    path = os.path.realpath(path) if os.path.exists(path) else os.fspath(path)
    if path in loaded_libraries:
        return
    if os.path.exists(path):
        with open(path, "rb") as file:
            content = file.read()
        foreign = b"libtorch_cpu" in content or b"libc10." in content
    else:
        foreign = True  # found by the system's loader, or by nobody
    if foreign:
        library._unloadable.append(path)
        raise OSError(f"{path}: operators compiled for PyTorch cannot be loaded without libtorch")
    ctypes.CDLL(path)
    if errors := _C._library_errors():
        raise RuntimeError(f"{path}: an operator could not be registered: {'; '.join(errors)}")
    loaded_libraries.add(path)


def __getattr__(name: str) -> _Namespace:
    if name.startswith("__"):  # what Python itself looks for
        raise AttributeError(f"module 'undertow.ops' has no attribute {name!r}")
    from undertow import _C
    from undertow.library import _ops

    if any(op.startswith(f"{name}::") for op in (*_ops, *_C._library_names())):
        return _Namespace(name)
    raise AttributeError(f"module 'undertow.ops' has no operators of the namespace {name!r}")
