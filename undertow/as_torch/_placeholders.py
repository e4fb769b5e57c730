"""Placeholders for missing torch names, which may be mentioned: imported, used in annotations, tables and isinstance, inherited from.

No object is an instance of a placeholder. Calling it, its truth value, or any other use raises NotImplementedError with the reason.
Code that handles a missing name, such as `hasattr`, `getattr` or a `try` block, gets the usual error instead of a placeholder.
The kind of access is determined from the bytecode of the accessing frame.
"""

from __future__ import annotations

import abc
import dis
import functools
import re
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import undertow
from undertow import _missing_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.abc import Loader
    from types import CodeType, FrameType
    from typing import Any
else:
    Loader = object  # importlib.abc takes long to import

_IMPORTS = ("IMPORT_NAME", "IMPORT_FROM")
_READS = ("LOAD_ATTR", "LOAD_METHOD")
_CONSTANT = re.compile(r"[A-Z]|sparse_(coo|csr|csc|bsr|bsc)$|jagged$|per_(tensor|channel)_\w*affine")  # constants that functions compare with
# Missing classes that are modules in torch: a class that inherits from one is a class of modules, whatever else it lacks.
_MODULES = re.compile(
    r"torch\.(distributed\.fsdp\.FullyShardedDataParallel"
    r"|(ao\.)?nn\.(intrinsic|qat|quantizable|quantized)\.([a-z]\w*\.)*[A-Z]\w*)$"
)
_RUNNERS = ("importlib", "runpy", "undertow.as_torch")


def imports(frame: FrameType | None, name: str) -> bool:
    """Return True if the frame's import statement names this module or a submodule, rather than a name inside a module."""
    if frame is None or frame.f_lasti < 0:
        return False
    stated = next((str(one.argval) for one in dis.get_instructions(frame.f_code) if one.offset == frame.f_lasti), "")
    return f"{stated}.".startswith(f"{name}.")


@functools.lru_cache(maxsize=4096)
def _asks(code: CodeType, at: int) -> tuple[str, tuple[str, ...], bool]:
    """Return the instruction at `at`, the attributes read directly after it ("()" marks a call), and whether it is in a `try` block."""
    instructions = list(dis.get_instructions(code))
    where = next((i for i, one in enumerate(instructions) if one.offset == at), None)
    if where is None:
        return "", (), False
    name, chain = instructions[where].opname, []
    for one in instructions[where + 1 :]:
        if one.opname not in _READS:
            break
        chain.append(str(one.argval) + ("()" if one.opname == "LOAD_METHOD" else ""))
    starts = {one.offset: i for i, one in enumerate(instructions)}
    guarded = False
    for entry in dis._parse_exception_table(code):  # type: ignore[attr-defined]  # private to dis
        if entry.start <= at < entry.end and entry.target in starts:
            handler = [one.opname for one in instructions[starts[entry.target] : starts[entry.target] + 2]]
            is_with = handler[-1] == "WITH_EXCEPT_START"
            guarded |= handler[0] == "PUSH_EXC_INFO" and (not is_with or name in _IMPORTS)
    if name == "LOAD_ATTR" and sys.version_info >= (3, 12) and (instructions[where].arg or 0) & 1:
        name = "LOAD_METHOD"  # a call follows
    return name, tuple(chain), guarded


def only_mentions(frame: FrameType | None, name: str) -> bool:
    """Return True if the frame only mentions the missing torch name, and does not handle its absence."""
    if frame is None or frame.f_lasti < 0 or not _missing_names.is_torchs(name):
        return False
    asked, chain, guarded = _asks(frame.f_code, frame.f_lasti)
    is_constant = bool(_CONSTANT.match(chain[-1] if chain else name.rpartition(".")[2])) or ".".join((name, *chain)).removesuffix("()") in _MARKS
    in_body = not frame.f_code.co_flags & 0x1  # CO_OPTIMIZED is set for functions
    if guarded or asked not in (*_IMPORTS, "LOAD_ATTR") or not (asked in _IMPORTS or is_constant or in_body):
        return False
    while in_body and frame.f_back is not None:  # code run by eval and exec belongs to the caller's frame
        frame = frame.f_back
        if frame.f_globals.get("__name__", "").startswith(_RUNNERS):
            break
        in_body = not frame.f_code.co_flags & 0x1
        if _asks(frame.f_code, frame.f_lasti)[2]:
            return False
    return True


class Mentioned(abc.ABCMeta):
    """The metaclass of placeholders. An ABCMeta, so that a class can inherit from a placeholder and from abstract classes."""

    _torch_name: str

    def __repr__(cls) -> str:
        return f"<{cls._torch_name}, which is not in Undertow>"

    def _raise_missing(cls, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(_missing_names.sentence(cls._torch_name))

    def __getattr__(cls, name: str) -> Any:
        dotted = f"{cls._torch_name}.{name}"
        if dotted in _MARKS:
            return _MARKS[dotted]
        if name.startswith(("__", "_abc_")) or not only_mentions(sys._getframe(1), dotted):
            raise AttributeError(_missing_names.sentence(dotted))
        return mentioned(dotted)

    def __getitem__(cls, item: Any) -> Any:
        return cls

    __call__ = __bool__ = __iter__ = __len__ = __contains__ = __enter__ = __exit__ = _raise_missing


def _as_it_is(fn: Any) -> Any:
    """Return the function: it would be marked for torch's tracer, but nothing is traced."""
    return fn


def _no(*args: Any) -> bool:
    """Return False: nothing is traced."""
    return False


def _marks(*args: Any) -> Any:
    """Return a decorator that returns the function: it would annotate it for torch's exporter, but nothing is exported."""
    return _as_it_is


def _tells(*args: Any) -> None:
    """Do nothing: it would register an operator with torch's exporter, but nothing is exported."""


# Names with a correct implementation although their module is missing.
_MARKS = {
    "torch.onnx.is_in_onnx_export": _no,
    "torch.onnx.symbolic_helper.parse_args": _marks,
    "torch.onnx.register_custom_op_symbolic": _tells,
}


@functools.cache
def mentioned(name: str) -> Any:
    """Return the placeholder of a missing torch name, always the same object."""
    if name in _MARKS:
        return _MARKS[name]
    home, _, last = name.rpartition(".")
    bases = (undertow.nn.Module,) if _MODULES.match(name) else ()
    return Mentioned(last, bases, {"_torch_name": name, "__module__": home, "__doc__": _missing_names.sentence(name)})


class _Module(ModuleType):
    """A missing module; its names are placeholders."""

    __all__ = ()

    def __getattr__(self, name: str) -> Any:
        dotted = f"{self.__name__}.{name}"
        if dotted in _MARKS:
            return _MARKS[dotted]
        if name.startswith("__") or not only_mentions(sys._getframe(1), dotted):
            raise AttributeError(_missing_names.sentence(dotted), name=name, obj=self)
        return mentioned(dotted)


class _Loader(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Module(spec.name, _missing_names.sentence(spec.name))

    def exec_module(self, module: ModuleType) -> None:
        pass


def module_spec(name: str) -> ModuleSpec:
    """Return the spec of a missing module, which may have submodules."""
    return ModuleSpec(name, _Loader(), is_package=True)
