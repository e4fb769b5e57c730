"""Operators by namespace and name: `ops.aten.add.Tensor` by torch's names, `ops.mylib.name` if `library.custom_op` or a C++ library defined it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from undertow._library._overload import LibraryPacket
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

    def __getattr__(self, name: str) -> LibraryPacket:
        if name.startswith("__") or (found := _find_packet(f"{self.name}::{name}")) is None:
            raise AttributeError(
                f"'_OpNamespace' '{self.name}' object has no attribute '{name}': no operator {self.name}::{name}; create it with library.custom_op",
                name=name,
                obj=self,
            )
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(dir(self))

    def __dir__(self) -> list[str]:
        mine = f"{self.name}::"
        return sorted({n[len(mine) :].partition(".")[0] for n in _defined() if n.startswith(mine)})


def _find_packet(qualname: str) -> LibraryPacket | None:
    """Return the operator `ns::name` that Python or a C++ library defined, or None."""
    from undertow._compiled_ops import add_to
    from undertow._library._overload import _packets

    return add_to(_packets, qualname)


def _defined() -> list[str]:
    from undertow import _C
    from undertow._library._parts import defined

    return [*defined(), *_C._library_names()]


loaded_libraries: set[str] = set()


def load_library(path: str) -> None:
    """Load a library of operators that C++ code registers with `UNDERTOW_LIBRARY` (or, built under as_torch, `TORCH_LIBRARY`).

    Raises OSError for a library that was compiled against PyTorch, which cannot be loaded without it.
    """
    import ctypes
    import os

    from undertow import _C

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
        raise OSError(f"{path}: operators compiled for PyTorch cannot be loaded without libtorch")
    ctypes.CDLL(path)
    if errors := _C._library_errors():
        raise RuntimeError(f"{path}: an operator could not be registered: {'; '.join(errors)}")
    loaded_libraries.add(path)


def __getattr__(name: str) -> _Namespace:
    if name.startswith("__"):  # what Python itself looks for
        raise AttributeError(f"module 'undertow.ops' has no attribute {name!r}")
    if any(op.startswith(f"{name}::") for op in _defined()):
        found = globals()[name] = _Namespace(name)
        return found
    raise AttributeError(f"module 'undertow.ops' has no operators of the namespace {name!r}")
