"""While as_torch is installed, types and functions have torch's module names: `type(x).__module__` is "torch".

Programs recognise tensors by the module of their type, and pickles name classes by it. `torch.x.y` is our module `undertow.x.y`, so most names
follow from the module; a name that is defined in a private module gets the module that exports it. Names that cannot be found again under
torch's name keep ours. `restore` undoes everything.
"""

from __future__ import annotations

import sys
from types import FunctionType, ModuleType

from undertow import _C
from undertow._torch_modules import TORCH_MODULES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

# Types of the C++ core: torch's module, and the name in Python's own messages, which for torch's Python classes has no module.
_CORE_TYPES = (
    (_C.Tensor, "torch", "Tensor"),
    (_C.Parameter, "torch.nn.parameter", "Parameter"),
    (_C.Size, "torch", "torch.Size"),
    (_C.dtype, "torch", "torch.dtype"),
    (_C.device, "torch", "torch.device"),
    (_C.layout, "torch", "torch.layout"),
    (_C.memory_format, "torch", "torch.memory_format"),
    (_C.Generator, "torch._C", "torch._C.Generator"),
    (_C.UntypedStorage, "torch.storage", "torch.storage.UntypedStorage"),
    (_C._LinAlgError, "torch._C", "torch._C._LinAlgError"),
)
_NATIVE = {  # the names to restore
    _C.Parameter: ("undertow.nn", "undertow.nn.Parameter"),
    _C._LinAlgError: ("undertow._C", "undertow._C._LinAlgError"),
}
_PARTS = {"undertow.nn.functional": "undertow.nn._functions."}  # private modules outside the package that exports their names

_renamed: list[tuple[Any, str]] = []  # with the names they had


def _own(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield the classes and functions that a module defines, with their names."""
    for name, value in list(vars(module).items()):
        if isinstance(value, (type, FunctionType)) and value.__module__ == module.__name__ and value.__qualname__ == name and name[:2] != "__":
            yield name, value


def _move(value: Any, home: str) -> None:
    _renamed.append((value, value.__module__))
    value.__module__ = home


def _is_private(module: str) -> bool:
    return not module.startswith("undertow.as_torch.shims.") and "._" in module


def rename(module: ModuleType, torch_name: Callable[[str], str]) -> None:
    """Give what a module of ours defines, and what it takes from private modules, torch's module names."""
    ours = module.__name__
    if f"{ours}.".startswith("undertow.as_torch.") and not ours.startswith("undertow.as_torch.shims"):
        return
    listed = getattr(module, "__all__", ()) if ours.startswith("undertow.as_torch.shims.") else None
    for name, value in _own(module):
        if listed is not None and name.startswith("_") and name not in listed:
            continue  # a helper of a shim, which torch does not have
        home = TORCH_MODULES.get(f"{ours}.{name}") or (None if name.startswith("_") and _is_private(ours) else TORCH_MODULES.get(ours))
        if home is not None or not _is_private(ours):
            _move(value, home or torch_name(ours))
    inside = _PARTS.get(ours) or (f"{ours}._" if hasattr(module, "__path__") else None)
    for part in [m for n, m in list(sys.modules.items()) if inside is not None and n.startswith(inside) and isinstance(m, ModuleType)]:
        for name, value in _own(part):
            if vars(module).get(name) is value:
                _move(value, torch_name(ours))


def rename_value(name: str, value: Any, torch_module: str) -> None:
    """Give a value that a package loads on first use the package's torch name, if a private module of ours defines it."""
    if isinstance(value, (type, FunctionType)) and value.__module__.startswith("undertow.") and value.__qualname__ == name:
        _move(value, torch_module)


def install(torch_name: Callable[[str], str]) -> None:
    """Rename the core's types and functions, and everything that is loaded."""
    for kind, module, printed in _CORE_TYPES:
        _C._set_type_name(kind, module, printed)
    for name, function in _C._ops.items():
        home = name.rpartition(".")[0]
        function.__module__ = f"torch.{home}" if home else "torch"
    for name, loaded in list(sys.modules.items()):
        if isinstance(loaded, ModuleType) and f"{name}.".startswith("undertow."):
            rename(loaded, torch_name)


def restore() -> None:
    """Undo `install` and `rename`."""
    for kind, _, _ in _CORE_TYPES:
        module, printed = _NATIVE.get(kind, ("undertow", f"undertow.{kind.__name__}"))
        _C._set_type_name(kind, module, printed)
    for function in _C._ops.values():
        function.__module__ = None  # type: ignore[assignment]  # as builtin functions have it
    for value, module in reversed(_renamed):
        value.__module__ = module
    _renamed.clear()
