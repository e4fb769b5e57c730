"""Stand-ins: a test file in PyTorch's style can be loaded although some names are missing; only tests that use such a name fail.

Such a file imports dozens of internals, most of them for a single test. In files that use torch.testing._internal, a missing name is replaced by
an object that can be compared and passed around; while the file is loaded it can also be called and inherited from. A test that it decorates is
skipped with the reason. A call, iteration or `with` in a running test raises NotImplementedError. `hasattr` is False, and imports inside functions
fail, as in other files.
"""

from __future__ import annotations

import dis
import functools
import inspect
import re
import sys
import unittest
from importlib.machinery import ModuleSpec
from types import ModuleType

import undertow
from undertow import _missing_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.abc import Loader
    from types import FrameType
    from typing import Any
else:
    Loader = object  # importlib.abc takes long to import

_OWN = "/torch/testing/"  # PyTorch's own tools, see _torch_test_tools.py
_LOADS = {dis.opmap[name] for name in ("LOAD_ATTR", "LOAD_METHOD") if name in dis.opmap}
_READS = _LOADS | {dis.opmap[name] for name in ("IMPORT_FROM", "IMPORT_NAME")}
_RUNNERS = ("unittest", "_pytest", "pluggy")


@functools.cache
def _uses_test_tools(filename: str) -> bool:
    if _OWN in filename:
        return True
    try:
        with open(filename, "rb") as file:
            text = file.read()
            return b"torch.testing._internal" in text and b"TestCase" in text
    except OSError:
        return False


def _is_body(frame: FrameType) -> bool:
    """Return True if the frame runs the body of a module or class, not a function."""
    return not frame.f_code.co_flags & inspect.CO_OPTIMIZED


def wanted_in(frame: FrameType | None) -> bool:
    """Return True if a missing name gets a stand-in in this frame: for attribute access and imports, not for `getattr`."""
    if frame is None or frame.f_lasti < 0 or not _uses_test_tools(frame.f_code.co_filename):
        return False
    if _OWN not in frame.f_code.co_filename and not _defining():  # a test is running: raise, as in other files
        return False
    return frame.f_code.co_code[frame.f_lasti] in (_READS if _is_body(frame) or _OWN in frame.f_code.co_filename else _LOADS)


def importing_frame(frame: FrameType | None) -> FrameType | None:
    """Return the frame whose import statement led here."""
    while frame is not None and ("importlib" in frame.f_code.co_filename or frame.f_code.co_filename.startswith(__file__.rpartition("/")[0])):
        frame = frame.f_back
    return frame


def _defining() -> bool:
    """Return True while a test file is loaded, before its tests run."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] in _RUNNERS:
            return False
        if _is_body(frame) and _uses_test_tools(frame.f_code.co_filename):
            return True
        frame = frame.f_back
    return False


def _is_test(x: Any) -> bool:
    if inspect.isclass(x):
        return issubclass(x, unittest.TestCase)
    return inspect.isfunction(x) and x.__name__.startswith("test")


class StandIn:
    """The replacement of a missing name while a test file is loaded. Its truth value is False."""

    def __init__(self, name: str) -> None:
        self._name = name

    def _raise_missing(self) -> Any:
        raise NotImplementedError(_missing_names.sentence(self._name))

    def _pass_on(self, *args: Any) -> Any:
        return self if _defining() else self._raise_missing()

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return ()
        if name in ("__name__", "__qualname__"):
            return self._name.rpartition(".")[2]
        if name.startswith("__") or name == "_name":
            raise AttributeError(_missing_names.sentence(f"{self._name}.{name}"))
        return StandIn(f"{self._name}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not _defining():
            self._raise_missing()
        if len(args) == 1 and not kwargs and _is_test(args[0]):
            return unittest.skip(_missing_names.sentence(self._name))(args[0])
        return StandIn(self._name)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        def __new__(cls: type, *args: Any, **kwargs: Any) -> Any:
            return self._raise_missing()

        return (type(self._name.rpartition(".")[2], (), {"__new__": __new__}),)

    def __copy__(self) -> StandIn:
        return self

    def __deepcopy__(self, memo: Any) -> StandIn:
        return self

    def __bool__(self) -> bool:
        return False

    def __iter__(self) -> Any:
        return iter(()) if _defining() else self._raise_missing()

    def __contains__(self, item: Any) -> bool:
        return False

    def __instancecheck__(self, instance: Any) -> bool:
        return False

    def __subclasscheck__(self, subclass: type) -> bool:
        return False

    def __enter__(self) -> Any:
        return self._raise_missing()

    def __exit__(self, *exc: Any) -> None:
        self._raise_missing()

    def __repr__(self) -> str:
        return f"<{self._name}, which is not in Undertow>"

    def __str__(self) -> str:
        return self._name  # as torch's objects print themselves: torch.sparse_coo

    __getitem__ = __or__ = __ror__ = __add__ = __radd__ = __and__ = __invert__ = __finfo__ = _pass_on
    __lt__ = __le__ = __gt__ = __ge__ = __contains__


class _MissingDType(StandIn):
    """A stand-in for a dtype: tables of dtypes check that each entry is one."""

    __class__ = property(lambda self: undertow.dtype)

    def __bool__(self) -> bool:
        return True  # tools leave a dtype that is False out of the names of tests, which are then equal


_DTYPES = re.compile(r"torch\.(float4_\w+|uint[1-7]|int[1-7]|bits\w+|qu?int\w+)$")


def stand_in(name: str) -> StandIn:
    """Return the stand-in for a missing torch name."""
    return _MissingDType(name) if _DTYPES.match(name) else StandIn(name)


class _StandInModule(ModuleType):
    """A missing module; every name in it is a stand-in."""

    __all__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return StandIn(f"{self.__name__}.{name}")


class _StandInLoader(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _StandInModule(spec.name, _missing_names.sentence(spec.name))

    def exec_module(self, module: ModuleType) -> None:
        pass


def module_spec(name: str) -> ModuleSpec:
    """Return the spec of a missing module, which may have submodules."""
    return ModuleSpec(name, _StandInLoader(), is_package=True)
