"""Write the pickle of a PyTorch file: protocol 2, with PyTorch's names for tensors and for our classes.

Tensors and plain containers are written with opcodes and names that torch.load(weights_only=True) accepts; every other object as pickle
writes it, from its `__reduce_ex__`. Storages are collected for the code that writes the file. Does not need torch.
"""

from __future__ import annotations

import copyreg
import functools
import struct
import sys
from collections import Counter, OrderedDict
from itertools import islice
from pickle import PicklingError, whichmodule  # type: ignore[attr-defined]  # not in its stub
from types import FunctionType

from undertow import _C
from undertow._C import Tensor, UntypedStorage
from undertow._pickle import is_wrapper
from undertow._torch_modules import torch_module_of
from undertow.serialization._allowed import name_of
from undertow.serialization._globals import DTYPES
from undertow.storage import TypedStorage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

_STORAGE_NAMES = {dtype: f"{name}Storage" for name, dtype in DTYPES.items()}
_BATCH = 1000
_SINGLE_TYPES = {type(None): None, type(...): ..., type(NotImplemented): NotImplemented}


class Global:
    """A global name that the reader looks up."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name


_ENCODE = Global("_codecs", "encode")
_ORDERED = Global("collections", "OrderedDict")
_COUNTER = Global("collections", "Counter")
_TENSOR_V2 = Global("torch._utils", "_rebuild_tensor_v2")
_TENSOR_V3 = Global("torch._utils", "_rebuild_tensor_v3")  # over bytes, for dtypes without a class of storages
_META_TENSOR = Global("torch._utils", "_rebuild_meta_tensor_no_storage")
_SPARSE_TENSOR = Global("torch._utils", "_rebuild_sparse_tensor")
_LAYOUT = Global("torch.serialization", "_get_layout")
_PARAMETER = Global("torch._utils", "_rebuild_parameter")
_PARAMETER_WITH_STATE = Global("torch._utils", "_rebuild_parameter_with_state")
_WRAPPER = Global("torch._utils", "_rebuild_wrapper_subclass")
_FROM_TYPE = Global("torch._tensor", "_rebuild_from_type_v2")
_TENSOR = Global("torch", "Tensor")
_SIZE = Global("torch", "Size")
_DEVICE = Global("torch", "device")
_UNTYPED = Global("torch.storage", "UntypedStorage")
_NAMESPACE = Global("argparse", "Namespace")
_SET = Global("__builtin__", "set")
_TYPE = Global("__builtin__", "type")
_GETATTR = Global("__builtin__", "getattr")
_BYTEARRAY = Global("__builtin__", "bytearray")
_COMPLEX = Global("__builtin__", "complex")
_STORAGE_TYPES = {dtype: Global("torch", name) for dtype, name in _STORAGE_NAMES.items()}


def _rebuild(t: Tensor) -> Global:
    if t.is_meta:
        return _META_TENSOR
    return _TENSOR_V2 if t.dtype in _STORAGE_TYPES else _TENSOR_V3


class Emitter:
    """Writes one pickle. `reference(storage, type, count)` returns the parts of a reference to a storage."""

    def __init__(self, legacy: bool = False) -> None:
        self.storages: list[UntypedStorage] = []
        self.counts: list[int] = []  # their numbers of elements
        self._numbers: dict[int, tuple[int, Any]] = {}
        self._legacy = legacy
        self._out = bytearray()
        self._memo: dict[int, tuple[int, Any]] = {}  # by id, with the object, so that the id is not reused
        self._interned: dict[Any, Any] = {}

    def pickle(self, obj: Any) -> bytes:
        """Return the complete pickle of `obj`."""
        self._out += b"\x80\x02"
        self._value(obj)
        self._out += b"."
        return bytes(self._out)

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _get(self, obj: Any) -> bool:
        known = self._memo.get(id(obj))
        if known is None:
            return False
        index = known[0]
        self._out += struct.pack("<cB", b"h", index) if index < 256 else struct.pack("<cI", b"j", index)
        return True

    def _put(self, obj: Any) -> None:
        index = len(self._memo)
        self._memo[id(obj)] = (index, obj)
        self._out += struct.pack("<cB", b"q", index) if index < 256 else struct.pack("<cI", b"r", index)

    def _global(self, g: Global) -> None:
        if not self._get(g):
            self._out += f"c{g.module}\n{g.name}\n".encode()
            self._put(g)

    def _call(self, g: Global, *arguments: Any) -> None:
        self._global(g)
        self._tuple(arguments)
        self._out += b"R"

    def _value(self, obj: Any) -> None:
        if obj is None or obj is True or obj is False:
            self._out += {None: b"N", True: b"\x88", False: b"\x89"}[obj]
            return
        kind = type(obj)
        if kind is int:
            self._int(obj)
        elif kind is float:
            self._out += struct.pack(">cd", b"G", obj)
        elif kind is str:
            self._text(obj)
        elif not self._get(obj):
            writer = _WRITERS.get(kind)
            if writer is None and (kind.__module__, kind.__name__) == ("argparse", "Namespace"):  # argparse is not imported for this
                writer = Emitter._namespace
            if writer is None and isinstance(obj, Tensor) and kind.__reduce_ex__ is Tensor.__reduce_ex__:
                writer = Emitter._wrapper_tensor if is_wrapper(obj) else Emitter._subclass_tensor
            (writer or Emitter._object)(self, obj)

    def _named(self, value: Any, name: str | None = None) -> None:
        """Write a function or class by its name: the one it was allowed under, or its own."""
        allowed = name_of(value)
        if allowed is not None:
            module, _, name = allowed.rpartition(".")
        else:
            module, name = _name_of_global(value, name or value.__qualname__)
            if "." in name:  # a nested class or a method, which protocol 2 has no opcode for
                first, *rest = name.split(".")
                self._attribute(self._interned.setdefault((module, first), Global(module, first)), rest)
                self._put(value)
                return
        self._global(self._interned.setdefault((module, name), Global(module, name)))

    def _attribute(self, g: Global, names: list[str]) -> None:
        """Write `getattr(getattr(g, first), second)` and so on."""
        for _ in names:
            self._global(_GETATTR)
        self._global(g)
        for name in names:
            self._text(name)
            self._out += b"\x86R"

    def _object(self, obj: Any) -> None:
        """Write an object as pickle does: a name, or the parts that `__reduce_ex__` returns."""
        kind = type(obj)
        if kind is type and obj in _SINGLE_TYPES:
            self._call(_TYPE, _SINGLE_TYPES[obj])
            self._put(obj)
            return
        if isinstance(obj, (type, FunctionType)):
            self._named(obj)
            return
        custom = copyreg.dispatch_table.get(kind)
        parts = obj.__reduce_ex__(2) if custom is None else custom(obj)
        if isinstance(parts, str):
            self._named(obj, parts)
            return
        made, arguments, state, items, pairs, setter = (*parts, None, None, None, None)[:6]
        name = getattr(made, "__name__", "")
        if name == "__newobj_ex__":
            cls, positional, named = arguments
            made, arguments = functools.partial(cls.__new__, cls, *positional, **named), ()
        if name == "__newobj__":
            self._named(arguments[0])
            arguments, code = arguments[1:], b"\x81"
        else:
            self._value(made)
            code = b"R"
        self._tuple(tuple(arguments))
        self._out += code
        if id(obj) in self._memo:  # its own arguments contain it
            self._out += b"0"
            self._get(obj)
        else:
            self._put(obj)
        if items is not None:
            self._batches(items, self._value, b"a", b"e")
        if pairs is not None:
            self._pairs(pairs)
        if state is not None and setter is None:
            self._value(state)
            self._out += b"b"
        elif state is not None:
            self._value(setter)
            self._tuple((obj, state))
            self._out += b"R0"

    def _int(self, n: int) -> None:
        if 0 <= n < 256:
            self._out += struct.pack("<cB", b"K", n)
        elif 0 <= n < 65536:
            self._out += struct.pack("<cH", b"M", n)
        elif -(1 << 31) <= n < 1 << 31:
            self._out += struct.pack("<ci", b"J", n)
        else:
            data = n.to_bytes((n.bit_length() >> 3) + 1, "little", signed=True)
            if len(data) > 255:
                raise ValueError(f"save: cannot write an int of {n.bit_length()} bits")
            self._out += struct.pack("<cB", b"\x8a", len(data)) + data

    def _text(self, text: str) -> None:
        text = self._interned.setdefault(text, text)
        if self._get(text):
            return
        data = text.encode("utf-8", "surrogatepass")
        self._out += struct.pack("<cI", b"X", len(data)) + data
        self._put(text)

    def _tuple(self, items: tuple) -> None:
        if not items:
            self._out += b")"
            return
        few = len(items) <= 3
        if not few:
            self._out += b"("
        for item in items:
            self._global(item) if isinstance(item, Global) else self._value(item)
        if id(items) in self._memo:  # it contains itself through a list or a dict, which has already written it
            self._out += b"0" * len(items) if few else b"1"
            self._get(items)
            return
        self._out += (b"", b"\x85", b"\x86", b"\x87")[len(items)] if few else b"t"
        self._put(items)

    def _batches(self, items: Iterable[Any], write: Callable[[Any], None], one: bytes, many: bytes) -> None:
        rest = iter(items)
        while batch := list(islice(rest, _BATCH)):
            self._out += b"(" if len(batch) > 1 else b""
            for item in batch:
                write(item)
            self._out += many if len(batch) > 1 else one

    def _pairs(self, pairs: Iterable[Any]) -> None:
        def pair(item: tuple[Any, Any]) -> None:
            self._value(item[0])
            self._value(item[1])

        self._batches(pairs, pair, b"s", b"u")

    def _dict(self, obj: dict) -> None:
        self._out += b"}"
        self._put(obj)
        self._pairs(obj.items())

    def _list(self, obj: Iterable[Any], put: bool = True) -> None:
        self._out += b"]"
        if put:
            self._put(obj)
        self._batches(obj, self._value, b"a", b"e")

    def _ordered(self, obj: OrderedDict) -> None:
        self._call(_ORDERED)
        self._put(obj)
        self._pairs(obj.items())
        if state := vars(obj):
            self._value(dict(state))
            self._out += b"b"

    def _namespace(self, obj: Any) -> None:
        """Write an argparse.Namespace, as pickle writes an object with attributes."""
        self._global(_NAMESPACE)
        self._out += b")\x81"
        self._put(obj)
        self._value(dict(vars(obj)))
        self._out += b"b"

    def _remembered(self, obj: Any, g: Global, *arguments: Any) -> None:
        self._call(g, *arguments)
        self._put(obj)

    # -- tensors -------------------------------------------------------------------------------------------------------

    def _reference(self, storage: UntypedStorage, dtype: Any) -> None:
        """Write a reference to a storage, which is stored outside the pickle."""
        number, known = self._numbers.setdefault(storage._cdata, (len(self.storages), dtype))
        if number == len(self.storages):
            self.storages.append(storage)
            self.counts.append(storage.nbytes() // (dtype.itemsize if dtype else 1))
        elif known is not dtype and storage.nbytes():
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different types: "
                f"one views it as {known or 'bytes'}, another as {dtype or 'bytes'}; clone one of them"
            )
        kind = _STORAGE_TYPES[dtype] if dtype else _UNTYPED
        parts = ("storage", kind, str(number), str(storage.device), self.counts[number])
        self._tuple((*parts, None) if self._legacy else parts)
        self._out += b"Q"

    def _untyped(self, storage: UntypedStorage) -> None:
        if self._legacy:
            raise TypeError("save: an UntypedStorage cannot be written to a file of the older format; save a tensor over it")
        self._reference(storage, None)

    def _plain_tensor(self, t: Tensor, requires_grad: bool) -> None:
        """Write the call that creates a tensor over its storage, regardless of its class."""
        if t.layout is not _C.strided:
            layout, indices, plain, values, coalesced = _C._sparse_parts(t)
            parts = (indices, values, t.shape, coalesced) if plain is None else (indices, plain, values, t.shape)
            self._call(_SPARSE_TENSOR, layout, parts)
            return
        self._global(_rebuild(t))
        self._tensor_arguments(t, requires_grad)
        self._out += b"R"

    def _tensor_arguments(self, t: Tensor, requires_grad: bool) -> None:
        """Write the arguments of `_rebuild(t)`."""
        if t.is_meta:
            self._tuple((t.dtype, tuple(t.shape), tuple(t.stride()), requires_grad))
            return
        self._out += b"("
        typed = t.dtype in _STORAGE_TYPES
        self._reference(t.untyped_storage(), t.dtype if typed else None)
        for value in (t.storage_offset(), tuple(t.shape), tuple(t.stride()), requires_grad):
            self._value(value)
        self._call(_ORDERED)
        if not typed:
            self._value(t.dtype)
        bits = {name: True for name, on in (("conj", t.is_conj()), ("neg", t.is_neg())) if on}
        if bits:
            self._value(bits)
        self._out += b"t"

    def _tensor(self, t: Tensor) -> None:
        _warn_of_hooks(t)
        state = _attributes(t)
        if not state or t.layout is not _C.strided:
            self._plain_tensor(t, t.requires_grad)
        else:
            self._global(_FROM_TYPE)
            self._out += b"("
            self._global(_rebuild(t))
            self._global(_TENSOR)
            self._tensor_arguments(t, t.requires_grad)
            self._value(state)
            self._out += b"tR"
        self._put(t)

    def _subclass_tensor(self, t: Tensor) -> None:
        """Write a tensor of a subclass."""
        plain = t.as_subclass(Tensor)
        self._global(_FROM_TYPE)
        self._out += b"("
        self._global(_rebuild(t))
        self._named(type(t))
        self._tensor_arguments(plain, plain.requires_grad)
        self._value(_attributes(t))
        self._out += b"tR"
        self._put(t)

    def _wrapper_tensor(self, t: Tensor) -> None:
        """Write a tensor of a subclass that has no memory: its attributes are the tensors that it wraps."""
        self._global(_FROM_TYPE)
        self._out += b"("
        self._global(_WRAPPER)
        self._named(type(t))
        self._out += b"("
        self._named(type(t))
        for part in (t.dtype, tuple(t.shape), tuple(t.stride()), t.storage_offset(), t.layout, t.device, t.requires_grad):
            self._value(part)
        self._out += b"t"
        self._value(_attributes(t))
        self._out += b"tR"
        self._put(t)

    def _parameter(self, t: Tensor) -> None:
        _warn_of_hooks(t)
        state = _attributes(t)
        self._global(_PARAMETER_WITH_STATE if state else _PARAMETER)
        self._out += b"("
        self._plain_tensor(t, False)
        self._value(t.requires_grad)
        self._call(_ORDERED)
        if state:
            self._value(state)
        self._out += b"tR"
        self._put(t)

    def _dtype(self, obj: Any) -> None:
        self._out += f"ctorch\n{str(obj).rpartition('.')[2]}\n".encode()
        self._put(obj)

    def _device(self, obj: Any) -> None:
        self._remembered(obj, _DEVICE, obj.type, *(() if obj.index is None else (obj.index,)))

    def _set(self, obj: set) -> None:
        self._global(_SET)
        self._list(obj, put=False)
        self._out += b"\x85R"
        self._put(obj)


def _name_of_global(value: Any, name: str) -> tuple[str, str]:
    """Return the module and name under which a function or class is found again; raise as pickle does if it is not."""
    if "<locals>" in name:
        raise AttributeError(f"Can't pickle local object {name!r}")
    module = whichmodule(value, name)
    try:
        __import__(module)
        found: Any = sys.modules[module]
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, KeyError, AttributeError):
        raise PicklingError(f"Can't pickle {value!r}: attribute lookup {name} on {module} failed") from None
    if found is not value:
        raise PicklingError(f"Can't pickle {value!r}: it's not the same object as {module}.{name}")
    if module.startswith("undertow"):
        module = torch_module_of(module, name)
    return {"builtins": "__builtin__"}.get(module, module), name


def _warn_of_hooks(t: Tensor) -> None:
    from undertow.utils.hooks import warn_if_has_hooks

    warn_if_has_hooks(t)


def _attributes(t: Tensor) -> Any:
    """Return the attributes of a tensor, or the state that its class defines."""
    if type(t) is Tensor or type(t) is _C.Parameter:
        return dict(getattr(t, "__dict__", None) or {})
    return t.__getstate__() or {}  # as pickle: the attributes, or a tuple of them and of those in slots


_WRITERS: dict[type, Callable[[Emitter, Any], None]] = {
    dict: Emitter._dict,
    list: Emitter._list,
    tuple: Emitter._tuple,
    set: Emitter._set,
    OrderedDict: Emitter._ordered,
    Counter: lambda e, obj: e._remembered(obj, _COUNTER, dict(obj)),
    complex: lambda e, obj: e._remembered(obj, _COMPLEX, obj.real, obj.imag),
    bytes: lambda e, obj: e._remembered(obj, _ENCODE, obj.decode("latin-1"), "latin1"),
    bytearray: lambda e, obj: e._remembered(obj, _BYTEARRAY, bytes(obj)),
    Tensor: Emitter._tensor,
    _C.Parameter: Emitter._parameter,
    _C.Size: lambda e, obj: e._remembered(obj, _SIZE, tuple(obj)),
    _C.dtype: Emitter._dtype,
    _C.device: Emitter._device,
    _C.layout: lambda e, obj: e._remembered(obj, _LAYOUT, "torch." + str(obj).rpartition(".")[2]),
    TypedStorage: lambda e, obj: e._reference(obj.untyped(), obj.dtype),
    UntypedStorage: Emitter._untyped,
}
