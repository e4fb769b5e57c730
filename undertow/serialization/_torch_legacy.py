"""PyTorch's format before 1.6: several pickles, then the storages' bytes.

In order: a magic number, a protocol number, information about the machine, the object, the list of storages, and for each
the number of its elements and its bytes.
"""

from __future__ import annotations

import struct
from pickle import UnpicklingError

from undertow._C import UntypedStorage, _storage_from_buffer
from undertow.serialization._globals import check_bools
from undertow.serialization._torch_zip import check_reference, read_safely, text
from undertow.storage import TypedStorage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO, Any

    from undertow.serialization._source import Source
    from undertow.serialization._torch_zip import Read

_MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001
START = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."  # the pickle of the magic number


def load(source: Source, restore: Callable[[Any, str], Any], encoding: str, read: Read = read_safely) -> Any:
    """Load the object in a file of torch.save's older format. `read` is the reader of its pickles."""
    data = source.whole()
    at = 0

    def pickled(load_persistent: Any = None) -> Any:
        nonlocal at
        result, at = read(data, load_persistent, at, encoding)
        return result

    if pickled() != _MAGIC:
        raise RuntimeError("Invalid magic number; corrupt file?")
    if (protocol := pickled()) != _PROTOCOL:
        raise RuntimeError(f"Invalid protocol version: {protocol}")
    facts = pickled()
    if not isinstance(facts, dict) or not (facts.get("little_endian") is True or facts.get(b"little_endian") is True):  # bytes: encoding="bytes"
        raise RuntimeError("load: the file was not written on a little-endian machine, which load requires")
    storages: dict[str, tuple[UntypedStorage, Any]] = {}
    views: dict[tuple[str, int, int], UntypedStorage] = {}
    total = 0

    def persistent(machine: Any, pid: Any) -> Any:
        nonlocal total
        kind, key, location, count = check_reference(pid)
        if key not in storages:
            nbytes = count * (kind.dtype.itemsize if kind.dtype else 1)
            total += nbytes
            source.check(0, total, "storages")  # before memory is allocated: all storages are in this file
            storage = restore(UntypedStorage(nbytes), location)
            if storage.nbytes() != nbytes:
                raise ValueError(f"load: map_location returned a storage of {storage.nbytes()} bytes instead of {nbytes}")
            storages[key] = (storage, kind.dtype)
        storage, dtype = storages[key]
        if dtype is not kind.dtype and storage.nbytes():
            raise UnpicklingError(f"corrupt pickle: the storage {key!r} has two dtypes")
        if len(pid) == 6 and pid[5] is not None:
            view = _checked_view(pid[5])
            if view not in views:
                views[view] = _part(storage, kind.dtype, view)
            storage = views[view]
        return storage if kind.dtype is None else TypedStorage(wrap_storage=storage, dtype=kind.dtype)

    result = pickled(persistent)
    keys = pickled()
    keys = [text(k) for k in keys] if isinstance(keys, list) else keys
    if not isinstance(keys, list) or not all(isinstance(k, str) for k in keys) or sorted(keys) != sorted(storages):
        raise RuntimeError("load: the storages of the file are not those that its tensors refer to")
    for key in keys:
        storage, dtype = storages[key]
        nbytes = storage.nbytes()
        source.check(at, 8 + nbytes, f"the storage {key!r}")
        (count,) = struct.unpack("<q", data[at : at + 8])
        if count * (dtype.itemsize if dtype else 1) != nbytes:
            raise RuntimeError(f"load: the storage {key!r} has {count} elements, but the pickle says {nbytes} bytes")
        found = UntypedStorage(nbytes)
        memoryview(found)[:] = data[at + 8 : at + 8 + nbytes]
        storage.copy_(found)
        at += 8 + nbytes
        if str(dtype).endswith("bool"):
            check_bools(storage)
    source.moved_to(at)
    return result


def _checked_view(view: Any) -> tuple[str, int, int]:
    """Return the key, the offset and the number of elements of a part of a storage, which very old files have."""
    view = (text(view[0]), *view[1:]) if isinstance(view, tuple) and view else view
    if not isinstance(view, tuple) or list(map(type, view)) != [str, int, int]:
        raise UnpicklingError("corrupt pickle: a part of a storage needs a key, an offset and a number of elements")
    return view


def _part(storage: UntypedStorage, dtype: Any, view: tuple[str, int, int]) -> UntypedStorage:
    """Return a part of a storage that shares its memory."""
    if storage.device.type != "cpu":
        raise UnpicklingError(f"load: a part of a storage must be in the memory of the CPU, not on {storage.device}")
    start, end = (n * (dtype.itemsize if dtype else 1) for n in (view[1], view[1] + view[2]))
    if not 0 <= start <= end <= storage.nbytes():
        raise UnpicklingError(f"corrupt pickle: bytes {start} to {end} of a storage of {storage.nbytes()}")
    return _storage_from_buffer(memoryview(storage)[start:end])


def save(file: IO[bytes], pickled: bytes, storages: list[UntypedStorage], counts: list[int]) -> None:
    """Write a file in torch.save's older format."""
    from undertow.serialization._pickle_writer import Emitter

    sizes = {"short": 2, "int": 4, "long": 4}
    facts = {"protocol_version": _PROTOCOL, "little_endian": True, "type_sizes": sizes}
    file.write(START)
    for value in (_PROTOCOL, facts):
        file.write(Emitter().pickle(value))
    file.write(pickled)
    file.write(Emitter().pickle([str(i) for i in range(len(storages))]))
    for storage, count in zip(storages, counts, strict=True):
        file.write(struct.pack("<q", count))
        file.write(memoryview(storage.cpu()))
