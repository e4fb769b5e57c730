"""Write the pickle of a PyTorch file: protocol 2, with opcodes and names that torch.load(weights_only=True) accepts.

Only objects that can be loaded without running code, and objects of classes that the user has allowed, can be written;
anything else raises with its name. Storages are collected for the code that writes the file. Does not need torch.
"""

from __future__ import annotations

import struct
from collections import Counter, OrderedDict
from itertools import islice

from undertow import _C
from undertow._C import Tensor, UntypedStorage
from undertow.serialization._allowed import name_of
from undertow.serialization._globals import DTYPES
from undertow.storage import TypedStorage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, NoReturn

_STORAGE_NAMES = {dtype: f"{name}Storage" for name, dtype in DTYPES.items()}
_BATCH = 1000


class Global:
    """A global name that the reader looks up."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name


_ENCODE = Global("_codecs", "encode")
_ORDERED = Global("collections", "OrderedDict")
_COUNTER = Global("collections", "Counter")
_TENSOR_V2 = Global("torch._utils", "_rebuild_tensor_v2")
_META_TENSOR = Global("torch._utils", "_rebuild_meta_tensor_no_storage")
_PARAMETER = Global("torch._utils", "_rebuild_parameter")
_PARAMETER_WITH_STATE = Global("torch._utils", "_rebuild_parameter_with_state")
_FROM_TYPE = Global("torch._tensor", "_rebuild_from_type_v2")
_TENSOR = Global("torch", "Tensor")
_SIZE = Global("torch", "Size")
_DEVICE = Global("torch", "device")
_UNTYPED = Global("torch.storage", "UntypedStorage")
_NAMESPACE = Global("argparse", "Namespace")
_SET = Global("__builtin__", "set")
_BYTEARRAY = Global("__builtin__", "bytearray")
_COMPLEX = Global("__builtin__", "complex")
_STORAGE_TYPES = {dtype: Global("torch", name) for dtype, name in _STORAGE_NAMES.items()}


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
            if writer is None and name_of(kind) is not None:
                writer = Emitter._allowed_tensor if isinstance(obj, Tensor) else Emitter._allowed
            if writer is None:
                self._raise_unsupported(obj)
            writer(self, obj)

    def _user_global(self, value: Any) -> None:
        """Write a function or class that the user has allowed, by the name it was allowed under."""
        name = name_of(value)
        if name is None:
            raise TypeError(f"save: cannot write {value!r}; allow it with undertow.serialization.add_safe_globals")
        module, _, last = name.rpartition(".")
        key = self._interned.setdefault(name, Global(module, last))
        self._global(key)

    def _allowed(self, obj: Any) -> None:
        """Write an object of a class that the user has allowed, as pickle does."""
        made, arguments, state, *items = (*obj.__reduce_ex__(2), None, None, None)[:5]
        if any(part is not None for part in items):
            raise TypeError(f"save: cannot write a {type(obj).__name__}: subclasses of list and dict are not supported; save list() or dict() of it")
        if made.__name__ == "__newobj__":
            made, arguments, code = arguments[0], arguments[1:], b"\x81"
        else:
            code = b"R"
        self._user_global(made)
        self._tuple(tuple(arguments))
        self._out += code
        self._put(obj)
        if state is not None:
            self._value(state)
            self._out += b"b"

    def _raise_unsupported(self, obj: Any) -> NoReturn:
        kind = type(obj)
        name = f"{kind.__module__}.{kind.__qualname__}"
        hint = "load could only build it by running code"
        if hasattr(obj, "state_dict"):
            hint = "save its state_dict() instead, and load that into a new one"
        elif isinstance(obj, Tensor):
            hint = "a subclass of Tensor is code; save as_subclass(Tensor), or allow it with undertow.serialization.add_safe_globals"
        elif hasattr(obj, "tolist"):
            hint = "save undertow.as_tensor of it, or its item()"
        raise TypeError(f"save: cannot write a {name}: {hint}. Tensors, numbers, strings, None, and dicts, lists, tuples and sets of them can be")

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

    def _items(self, obj: dict) -> None:
        def pair(item: tuple[Any, Any]) -> None:
            self._value(item[0])
            self._value(item[1])

        self._batches(obj.items(), pair, b"s", b"u")

    def _dict(self, obj: dict) -> None:
        self._out += b"}"
        self._put(obj)
        self._items(obj)

    def _list(self, obj: Iterable[Any], put: bool = True) -> None:
        self._out += b"]"
        if put:
            self._put(obj)
        self._batches(obj, self._value, b"a", b"e")

    def _ordered(self, obj: OrderedDict) -> None:
        self._call(_ORDERED)
        self._put(obj)
        self._items(obj)
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
        elif known is not dtype:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different types: "
                f"one views it as {known or 'bytes'}, another as {dtype or 'bytes'}; clone one of them"
            )
        if self._legacy and dtype is None:
            raise TypeError("save: an UntypedStorage cannot be written to a file of the older format; save a tensor over it")
        parts = ("storage", _STORAGE_TYPES[dtype] if dtype else _UNTYPED, str(number), "cpu", self.counts[number])
        self._tuple((*parts, None) if self._legacy else parts)
        self._out += b"Q"

    def _plain_tensor(self, t: Tensor, requires_grad: bool) -> None:
        """Write the call that creates a tensor over its storage, regardless of its class."""
        if t.is_meta:
            self._global(_META_TENSOR)
            self._tuple((t.dtype, tuple(t.shape), tuple(t.stride()), requires_grad))
        else:
            self._global(_TENSOR_V2)
            self._tensor_arguments(t, requires_grad)
        self._out += b"R"

    def _tensor_arguments(self, t: Tensor, requires_grad: bool) -> None:
        self._out += b"("
        self._reference(t.untyped_storage(), t.dtype)
        for value in (t.storage_offset(), tuple(t.shape), tuple(t.stride()), requires_grad):
            self._value(value)
        self._call(_ORDERED)
        bits = {name: True for name, on in (("conj", t.is_conj()), ("neg", t.is_neg())) if on}
        if bits:
            self._value(bits)
        self._out += b"t"

    def _tensor(self, t: Tensor) -> None:
        _warn_of_hooks(t)
        state = _attributes(t)
        if not state:
            self._plain_tensor(t, t.requires_grad)
        else:
            self._global(_FROM_TYPE)
            self._out += b"("
            self._global(_TENSOR_V2)
            self._global(_TENSOR)
            self._tensor_arguments(t, t.requires_grad)
            self._value(state)
            self._out += b"tR"
        self._put(t)

    def _allowed_tensor(self, t: Tensor) -> None:
        """Write a tensor of a subclass that the user has allowed."""
        plain = t.as_subclass(Tensor)
        self._global(_FROM_TYPE)
        self._out += b"("
        self._global(_TENSOR_V2)
        self._user_global(type(t))
        self._tensor_arguments(plain, plain.requires_grad)
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


def _warn_of_hooks(t: Tensor) -> None:
    from undertow.utils.hooks import warn_if_has_hooks

    warn_if_has_hooks(t)


def _attributes(t: Tensor) -> dict[str, Any]:
    return dict(getattr(t, "__dict__", None) or {})


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
    TypedStorage: lambda e, obj: e._reference(obj.untyped(), obj.dtype),
    UntypedStorage: lambda e, obj: e._reference(obj, None),
}
