"""Read a pickle with Python's own unpickler, which runs what the file says: `load(weights_only=False)`.

Used only if the user says so and the safe reader does not accept the file. Torch's names mean Undertow's classes and functions; PyTorch itself is
not imported.
"""

from __future__ import annotations

import importlib
import io
import pickle
import sys
import warnings

import undertow
from undertow._C import Parameter, Tensor
from undertow.serialization._globals import _GLOBALS, StorageType, of_class, wrapper_of
from undertow.serialization._pickle_reader import Builder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class _Unlimited:
    """Stands for the safe reader where a builder of tensors expects it; nothing is limited."""

    def spend(self, count: int) -> None: ...

    def loadable(self, value: Any) -> Any:
        return value


def _rebuild_from_type(make: Callable[..., Any], cls: type, arguments: tuple[Any, ...], state: Any) -> Any:
    """`torch._tensor._rebuild_from_type_v2`: build a tensor, give it its class and attributes."""
    from undertow._pickle import _set_state

    t = make(*arguments)
    if cls is Parameter and not isinstance(t, Parameter):
        t = Parameter(t.detach(), t.requires_grad)
    elif type(t) is not cls:
        t = of_class(t, cls)
    _set_state(t, state)
    return t


def _parameter_with_state(data: Tensor, requires_grad: bool, hooks: Any, state: Any) -> Any:
    from undertow._pickle import _set_state

    t = Parameter(data.detach(), requires_grad)
    _set_state(t, state)
    return t


_OWN: dict[str, Any] = {
    "torch._utils._rebuild_wrapper_subclass": wrapper_of,
    "torch.serialization._get_layout": lambda name: getattr(undertow, name.rpartition(".")[2]),
    "torch._tensor._rebuild_from_type_v2": _rebuild_from_type,
    "torch._utils._rebuild_parameter_with_state": _parameter_with_state,
    "torch.Tensor": Tensor,
    "torch._C._nn.Parameter": Parameter,
}


def _function(builder: Builder) -> Any:
    call = builder.call
    return lambda *arguments: call(_Unlimited(), *arguments)  # type: ignore[misc]


def _torchs(module: str, name: str) -> Any:
    """Return what a name of torch means here."""
    path = f"{module}.{name}"
    if path in _OWN:
        return _OWN[path]
    known = _GLOBALS.get(path)
    if isinstance(known, StorageType) or (known is not None and not isinstance(known, Builder)):
        return known
    if known is not None and path.startswith("torch._utils."):
        return _function(known)
    ours = undertow if module == "torch" else None
    try:
        if getattr(sys.modules.get("torch"), "torch", None) is not None and "undertow" in str(getattr(sys.modules["torch"], "__version__", "")):
            ours = importlib.import_module(module)  # as_torch: also the names that only programs written for torch need
        elif ours is None:
            ours = importlib.import_module("undertow" + module.removeprefix("torch"))
        found: Any = ours
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise pickle.UnpicklingError(f"load: the file needs {path}: {error}") from error
    return found


class _Unpickler(pickle.Unpickler):
    """Python's unpickler with our tensors."""

    def __init__(self, file: Any, persistent: Any, encoding: str) -> None:
        super().__init__(file, encoding=encoding)
        self._persistent = persistent

    def find_class(self, module: str, name: str) -> Any:
        if module == "torch" or module.startswith("torch."):
            return _torchs(module, name)
        return super().find_class(module, name)

    def persistent_load(self, pid: Any) -> Any:
        if isinstance(pid, tuple) and pid and pid[0] == "module":  # an old file with the source of a class
            return pid[1]
        if self._persistent is None:
            raise pickle.UnpicklingError("a reference outside the file's object")
        return self._persistent(None, pid)


def read(data: Any, persistent: Any, at: int, encoding: str) -> tuple[Any, int]:
    """Return the object of the pickle that begins at `at`, and where it ends."""
    file = io.BytesIO(memoryview(data)[at:])
    return _Unpickler(file, persistent, encoding).load(), at + file.tell()


def warn() -> None:
    """Say that the file can run code."""
    warnings.warn(
        "load(weights_only=False): the file needs more than tensors and plain containers, so it is read with pickle, and a pickle can run any code "
        "while it is read. Do this only with files from a source you trust",
        stacklevel=4,
    )
