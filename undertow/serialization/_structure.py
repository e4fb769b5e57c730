"""Nested objects as JSON with references to tensors by name, for the metadata of a safetensors file.

Numbers, strings, booleans and null are themselves; everything else is a list whose first element is its kind:
`["dict", [key, value], ...]`, `["tensor", name]`. The kinds are a closed set, and none of them is code.
"""

from __future__ import annotations

import json
import math
from collections import Counter, OrderedDict
from pickle import UnpicklingError

from undertow import _C
from undertow._C import Tensor
from undertow.serialization._pickle_reader import check_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SEQUENCES: dict[str, Any] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset, "Size": _C.Size}
_MAPPINGS: dict[str, Any] = {"dict": dict, "OrderedDict": OrderedDict, "Counter": Counter}
_KINDS = {cls: name for name, cls in (*_SEQUENCES.items(), *_MAPPINGS.items())}


class _Encoder:
    def __init__(self, dtypes: set[Any]) -> None:
        self._dtypes = dtypes
        self.tensors: dict[str, Tensor] = {}
        self._names: dict[int, str] = {}
        self._open: set[int] = set()

    def value(self, obj: Any, path: str) -> Any:
        kind = type(obj)
        if obj is None or kind in (bool, int, str):
            return obj
        if kind is float:
            return obj if math.isfinite(obj) else ["float", str(obj)]
        if kind is complex:
            return ["complex", self.value(obj.real, path), self.value(obj.imag, path)]
        if kind is bytes:
            return ["bytes", obj.hex()]
        if kind is _C.dtype:
            return ["dtype", str(obj).rpartition(".")[2]]
        if kind is _C.device:
            return ["device", str(obj)]
        if kind is Tensor or issubclass(kind, _C.Parameter):
            return self._tensor(obj, path)
        if kind in _KINDS:
            return self._container(obj, kind, path)
        hint = "save its state_dict()" if hasattr(obj, "state_dict") else "save what it is made of"
        raise TypeError(
            f"save: cannot write a {kind.__module__}.{kind.__qualname__}{f', at {path},' if path else ''} to a safetensors file: {hint}. "
            "Tensors, numbers, strings, None and dicts, lists, tuples and sets of them can be saved"
        )

    def _container(self, obj: Any, kind: type, path: str) -> Any:
        if id(obj) in self._open:
            raise ValueError(f"save: the object at {path!r} contains itself, which a safetensors file cannot represent; a .pt file can")
        self._open.add(id(obj))
        where = f"{path}." if path else ""
        if issubclass(kind, dict):
            parts = [[self.value(k, where), self.value(v, where + str(k))] for k, v in obj.items()]
        else:
            parts = [self.value(v, f"{where}{i}") for i, v in enumerate(obj)]
        self._open.discard(id(obj))
        return [_KINDS[kind], *parts]

    def _tensor(self, t: Tensor, path: str) -> Any:
        name = self._names.get(id(t))
        if name is None:
            name = base = "tensor" if path in ("", "__metadata__") else path.encode("utf-8", "replace").decode()
            number = 1
            while name in self.tensors:
                number += 1
                name = f"{base}#{number}"
            self._names[id(t)] = name
            self.tensors[name] = t if t.dtype in self._dtypes else _C._ops["view_as_real"](t.detach().resolve_conj())
        return ["tensor", name] if t.dtype in self._dtypes else ["complex tensor", name]


def encode(obj: Any, dtypes: set[Any]) -> tuple[dict[str, Tensor], str]:
    """Return the tensors of an object by name, and its structure. Complex tensors whose dtype is not in `dtypes` become real ones."""
    encoder = _Encoder(dtypes)
    structure = encoder.value(obj, "")
    return encoder.tensors, json.dumps(structure, allow_nan=False)


def _wrong(message: str) -> RuntimeError:
    return RuntimeError(f"load: the structure in the safetensors file's metadata is corrupt: {message}")


def decode(text: str, tensors: dict[str, Tensor]) -> Any:
    """Return the object that `encode` described."""
    try:
        return _value(json.loads(text), tensors)
    except (ValueError, TypeError, LookupError, RuntimeError, AttributeError, OverflowError, UnpicklingError) as error:
        raise _wrong(f"{type(error).__name__}: {error}") from error


def _value(part: Any, tensors: dict[str, Tensor]) -> Any:
    if part is None or isinstance(part, (bool, int, float, str)):
        return part
    if not isinstance(part, list) or not part or not isinstance(part[0], str):
        raise _wrong("something that is neither a plain value nor a list with a kind")
    kind, *rest = part
    if kind in _MAPPINGS:
        if not all(isinstance(pair, list) and len(pair) == 2 for pair in rest):
            raise _wrong(f"a {kind} whose items are not pairs")
        return _MAPPINGS[kind]({check_key(_value(k, tensors)): _value(v, tensors) for k, v in rest})
    if kind in _SEQUENCES:
        items = [_value(v, tensors) for v in rest]
        return _SEQUENCES[kind]([check_key(v) for v in items] if kind in ("set", "frozenset") else items)
    if kind == "complex":
        real, imag = (_value(v, tensors) for v in rest)
        return complex(real, imag)
    (value,) = rest
    if not isinstance(value, str):
        raise _wrong(f"a {kind} without its text")
    if kind == "tensor":
        return tensors[value]
    if kind == "complex tensor":
        return _C._ops["view_as_complex"](tensors[value])
    if kind == "float":
        return float(value)
    if kind == "bytes":
        return bytes.fromhex(value)
    if kind == "dtype":
        found = getattr(_C, value)
        if type(found) is not _C.dtype:
            raise _wrong(f"{value!r} is not a dtype")
        return found
    if kind == "device":
        return _C.device(value)
    raise _wrong(f"unknown kind {kind!r}")
