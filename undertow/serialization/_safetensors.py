"""The safetensors format: a length, a JSON header of names, dtypes, shapes and positions, and the tensors' bytes.

The header is checked completely before memory is allocated: unique names, sizes that match shape and dtype, and contiguous
positions from the first byte to the last. See Note [Sizes From Files]. The structure of an object that is not just a dict
of tensors is stored in the header's metadata: `_structure`.
"""

from __future__ import annotations

import json
import struct

from undertow import _C
from undertow._C import Tensor
from undertow.serialization import _structure
from undertow.serialization._globals import MOST_DIMENSIONS, check_bools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO, Any

    from undertow._C import UntypedStorage
    from undertow.serialization._source import Source

_LARGEST_HEADER = 100_000_000  # the format's own limit
_DTYPES = {
    "BOOL": _C.bool,
    "U8": _C.uint8,
    "U16": _C.uint16,
    "U32": _C.uint32,
    "U64": _C.uint64,
    "I8": _C.int8,
    "I16": _C.int16,
    "I32": _C.int32,
    "I64": _C.int64,
    "F8_E4M3": _C.float8_e4m3fn,
    "F8_E5M2": _C.float8_e5m2,
    "F8_E4M3FNUZ": _C.float8_e4m3fnuz,
    "F8_E5M2FNUZ": _C.float8_e5m2fnuz,
    "F8_E8M0": _C.float8_e8m0fnu,
    "F16": _C.float16,
    "BF16": _C.bfloat16,
    "F32": _C.float32,
    "F64": _C.float64,
    "C64": _C.complex64,
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
_METADATA = "__metadata__"
_STRUCTURE = "undertow.structure"


def looks_like(start: bytes) -> bool:
    """Return True if a file with this beginning may be safetensors: no other format has a brace after eight bytes."""
    return len(start) >= 9 and start[8:9] == b"{"


# -- reading -----------------------------------------------------------------------------------------------------------


def _wrong(message: str) -> RuntimeError:
    return RuntimeError(f"load: not a valid safetensors file: {message}")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise _wrong(f"the name {next(n for n in names if names.count(n) > 1)!r} occurs twice")
    return found


def _reject_constant(text: str) -> Any:
    raise ValueError(f"{text} is not valid JSON")


def read_header(source: Source) -> tuple[dict[str, dict[str, Any]], dict[str, str], int]:
    """Return the checked entries by name, the metadata, and the position of the tensors' bytes."""
    (length,) = struct.unpack("<Q", source.read(0, 8, "the header's length"))
    if length > _LARGEST_HEADER:
        raise _wrong(f"its header length is {length} bytes, more than the {_LARGEST_HEADER} allowed")
    text = source.read(8, length, "the header")
    try:
        header = json.loads(text.decode("utf-8"), object_pairs_hook=_no_duplicates, parse_constant=_reject_constant)
    except (ValueError, RecursionError) as error:
        raise _wrong(f"its header is not valid JSON: {error}") from error
    if not isinstance(header, dict):
        raise _wrong("its header is not a JSON object")
    metadata = header.pop(_METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise _wrong("its metadata must be strings by name")
    for name, entry in header.items():
        _check_entry(name, entry)
    data = 8 + length
    _check_positions(header, source.size - data)
    return header, metadata, data


def _check_entry(name: str, entry: Any) -> None:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise _wrong(f"the entry of {name!r} must have dtype, shape and data_offsets, and nothing else")
    shape, offsets = entry["shape"], entry["data_offsets"]
    for numbers in (shape, offsets):
        if not isinstance(numbers, list) or any(type(n) is not int or not 0 <= n < 1 << 63 for n in numbers):
            raise _wrong(f"the shape and the positions of {name!r} must be lists of non-negative ints")
    if len(offsets) != 2 or len(shape) > MOST_DIMENSIONS:
        raise _wrong(f"{name!r} has {len(shape)} sizes and {len(offsets)} positions")
    dtype = _DTYPES.get(entry["dtype"]) if isinstance(entry["dtype"], str) else None
    if dtype is None:
        raise _wrong(f"{name!r} has dtype {entry['dtype']!r}, which is not one of {', '.join(_DTYPES)}")
    count = 1
    for n in shape:
        count *= n
    begin, end = offsets
    if end - begin != count * dtype.itemsize:
        raise _wrong(f"{name!r} of shape {shape} and {dtype} takes {count * dtype.itemsize} bytes, but its positions {offsets} span {end - begin}")


def _check_positions(header: dict[str, dict[str, Any]], available: int) -> None:
    behind = 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = entry["data_offsets"]
        if begin != behind:
            what = "overlaps the previous one" if begin < behind else "leaves a gap before it"
            raise _wrong(f"{name!r} begins at {begin}, which {what} (expected {behind})")
        behind = end
    if behind != available:
        raise _wrong(f"its tensors take {behind} bytes, but {available} follow the header: it is truncated or has extra data")


def load(source: Source, restore: Callable[[Any, str], Any]) -> Any:
    """Return the dict of tensors, or the nested object, in a safetensors file."""
    header, metadata, data = read_header(source)
    tensors = {name: _tensor(source, restore, name, entry, data) for name, entry in header.items()}
    if _STRUCTURE in metadata:
        return _structure.decode(metadata[_STRUCTURE], tensors)
    return tensors


def _tensor(source: Source, restore: Callable[[Any, str], Any], name: str, entry: dict[str, Any], data: int) -> Tensor:
    dtype, shape = _DTYPES[entry["dtype"]], entry["shape"]
    begin, end = entry["data_offsets"]
    storage = restore(source.storage(data + begin, end - begin, f"the tensor {name!r}"), "cpu")
    if storage.nbytes() != end - begin:
        raise ValueError(f"load: map_location returned a storage of {storage.nbytes()} bytes instead of {end - begin}")
    if storage.data_ptr() % dtype.itemsize:
        storage = storage.clone()  # mapped from a file whose header has an odd length
    if dtype is _C.bool:
        check_bools(storage)
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return _C._tensor_over(storage, dtype, 0, tuple(shape), tuple(reversed(strides)))


# -- writing -----------------------------------------------------------------------------------------------------------


def prepare(obj: Any) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return the tensors to write by name, and the metadata. A dict of tensors needs no structure in the metadata."""
    if isinstance(obj, dict) and all(_plain(name, value) for name, value in obj.items()):
        return dict(obj), {"format": "pt"}
    tensors, structure = _structure.encode(obj, set(_NAMES))
    return tensors, {"format": "pt", _STRUCTURE: structure}


def _plain(name: Any, value: Any) -> bool:
    return type(name) is str and name != _METADATA and isinstance(value, Tensor) and value.dtype in _NAMES


def _bytes_of(t: Tensor) -> tuple[memoryview, Tensor]:
    whole = t.detach().cpu().resolve_conj().resolve_neg().contiguous()
    storage: UntypedStorage = whole.untyped_storage()
    begin = whole.storage_offset() * whole.itemsize
    return memoryview(storage)[begin : begin + whole.numel() * whole.itemsize], whole


def save(file: IO[bytes], tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
    """Write a file that every safetensors reader accepts."""
    # The widest first, so that every tensor is aligned to the size of its elements.
    order = sorted(tensors, key=lambda name: -tensors[name].itemsize)
    places, at = {}, 0
    for name in order:
        size = tensors[name].numel() * tensors[name].itemsize
        places[name] = [at, at + size]
        at += size
    header: dict[str, Any] = {_METADATA: metadata}
    for name, t in tensors.items():
        header[name] = {"dtype": _NAMES[t.dtype], "shape": list(t.shape), "data_offsets": places[name]}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    text += b" " * (-len(text) % 8)
    if len(text) > _LARGEST_HEADER:
        raise ValueError(f"save: the header would have {len(text)} bytes, more than the {_LARGEST_HEADER} that safetensors allows")
    file.write(struct.pack("<Q", len(text)))
    file.write(text)
    for name in order:
        view, owner = _bytes_of(tensors[name])
        file.write(view)
        del view, owner
