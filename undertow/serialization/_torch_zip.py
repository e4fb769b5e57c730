"""PyTorch's file format: an uncompressed zip archive of one pickle (`data.pkl`) and one record for each storage.

This module reads and writes the archive. `_globals` and `_pickle_writer` handle the pickle.
"""

from __future__ import annotations

import struct
from pickle import UnpicklingError
from zlib import crc32

from undertow.serialization._globals import StorageType, check_bools, find
from undertow.serialization._pickle_reader import Machine
from undertow.storage import TypedStorage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO, Any

    from undertow._C import UntypedStorage
    from undertow.serialization._source import Source

    Read = Callable[[memoryview, Any, int, str], tuple[Any, int]]  # data, persistent, where it begins, encoding; the object, where it ends

_LOCAL, _CENTRAL, _END, _END64, _LOCATOR64 = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"
_FAILED = "PytorchStreamReader failed reading zip archive"
_ALIGNMENT = 64
_FITS_32 = 0xFFFFFFFF


# -- reading -----------------------------------------------------------------------------------------------------------


class Archive:
    """The records of a zip file by name; checked to be disjoint, uncompressed and inside the file. See Note [Sizes From Files]."""

    def __init__(self, source: Source, check_sums: bool = True) -> None:
        self._source = source
        self._check_sums = check_sums
        directory, self._end = self._directory()
        self._records = self._read_directory(directory)
        first = next(iter(self._records), None)
        if first is None:
            raise RuntimeError(f"{_FAILED}: it is empty")
        self._prefix = first.partition("/")[0] + "/" if "/" in first else ""
        self._check_places()

    def _directory(self) -> tuple[bytes, int]:
        tail_at = max(0, self._source.size - 65557)
        tail = self._source.read(tail_at, self._source.size - tail_at, "the end of the zip archive")
        at = tail.rfind(_END)
        if at < 0 or len(tail) - at < 22:
            raise RuntimeError(f"{_FAILED}: failed finding central directory: the file is truncated or corrupt")
        disk, start_disk, _, _, size, start = struct.unpack("<HHHHII", tail[at + 4 : at + 20])
        if disk or start_disk:
            raise RuntimeError(f"{_FAILED}: it is part of a multi-volume archive, or corrupt")
        if at >= 20 and tail[at - 20 : at - 16] == _LOCATOR64:
            (end64,) = struct.unpack("<Q", tail[at - 12 : at - 4])
            record = self._source.read(end64, 56, "the zip64 end record")
            if record[:4] != _END64:
                raise RuntimeError(f"{_FAILED}: the zip64 end record is missing")
            size, start = struct.unpack("<QQ", record[40:56])
        return self._source.read(start, size, "the central directory"), start

    def _read_directory(self, data: bytes) -> dict[str, tuple[int, int, int]]:
        """Return a dict from name to (position of the local header, size, checksum)."""
        records: dict[str, tuple[int, int, int]] = {}
        at = 0
        while at < len(data):
            if data[at : at + 4] != _CENTRAL or len(data) - at < 46:
                raise RuntimeError(f"{_FAILED}: corrupt central directory")
            flags, method, _, _, checksum, packed, size, name_len, extra_len, comment_len, _, _, _, header = struct.unpack(
                "<HHHHIIIHHHHHII", data[at + 8 : at + 46]
            )
            name_at = at + 46
            at = name_at + name_len + extra_len + comment_len
            if at > len(data):
                raise RuntimeError(f"{_FAILED}: corrupt central directory")
            try:
                name = data[name_at : name_at + name_len].decode("utf-8")
            except UnicodeDecodeError as error:
                raise RuntimeError(f"{_FAILED}: a record's name is not UTF-8") from error
            extra = data[name_at + name_len : name_at + name_len + extra_len]
            size, packed, header = _wide(extra, size, packed, header)
            if method or size != packed or flags & 1:
                raise RuntimeError(f"{_FAILED}: the record {name!r} is compressed or encrypted, which PyTorch's files are not")
            if name in records:
                raise RuntimeError(f"{_FAILED}: there are two records {name!r}")
            records[name] = (header, size, checksum)
        return records

    def _check_places(self) -> None:
        """Find the position of each record's bytes, and check that records do not overlap."""
        self._places: dict[str, tuple[int, int, int]] = {}
        behind = 0
        for name, (header, size, checksum) in sorted(self._records.items(), key=lambda item: item[1]):
            local = self._source.read(header, 30, f"the header of {name!r}")
            if local[:4] != _LOCAL:
                raise RuntimeError(f"{_FAILED}: the header of {name!r} is missing")
            name_len, extra_len = struct.unpack("<HH", local[26:30])
            begin = header + 30 + name_len + extra_len
            if header < behind or begin + size > self._end:
                raise RuntimeError(f"{_FAILED}: the record {name!r} overlaps another one, or extends beyond the file")
            behind = begin + size
            self._places[name] = (begin, size, checksum)

    def __contains__(self, name: str) -> bool:
        return self._prefix + name in self._places

    def _place(self, name: str) -> tuple[int, int, int]:
        try:
            return self._places[self._prefix + name]
        except KeyError:
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found") from None

    def read(self, name: str) -> bytes:
        """Return a record's bytes."""
        begin, size, checksum = self._place(name)
        data = self._source.read(begin, size, f"the record {name!r}")
        self._verify(name, data, checksum)
        return data

    def storage(self, name: str, nbytes: int) -> UntypedStorage:
        """Return a record as a storage; raise if it does not have the expected size."""
        begin, size, checksum = self._place(name)
        if size != nbytes:
            raise RuntimeError(f"load: the record {name!r} has {size} bytes, but the pickle says {nbytes}")
        storage = self._source.storage(begin, size, f"the record {name!r}")
        if self._check_sums:
            self._verify(name, memoryview(storage), checksum)
        return storage

    def _verify(self, name: str, data: Any, checksum: int) -> None:
        if checksum and crc32(data) != checksum:  # 0: PyTorch did not compute it, see torch.serialization.set_crc32_options
            raise RuntimeError(f"PytorchStreamReader failed reading file {name}: its checksum is wrong: corrupt file")


def _wide(extra: bytes, size: int, packed: int, header: int) -> tuple[int, int, int]:
    """Return sizes and position, replaced by those of the zip64 field where 32 bits are not enough."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack("<HH", extra[at : at + 4])
        field = extra[at + 4 : at + 4 + length]
        at += 4 + length
        if kind != 1:
            continue
        numbers = [n for (n,) in struct.iter_unpack("<Q", field[: len(field) // 8 * 8])]
        wanted = [v == _FITS_32 for v in (size, packed, header)]
        if sum(wanted) > len(numbers):
            raise RuntimeError(f"{_FAILED}: corrupt zip64 field")
        values = iter(numbers)
        size, packed, header = (next(values) if wide else v for wide, v in zip(wanted, (size, packed, header), strict=True))
    return size, packed, header


assumed_order = b"little"  # of files without a record of their byte order


def read_safely(data: memoryview, persistent: Any, at: int, encoding: str) -> tuple[Any, int]:
    """Return the object of the pickle that begins at `at`, and where it ends; runs no code of the file."""
    machine = Machine(data, find, persistent, at, encoding)
    return machine.run(), machine.at


def pickle_of(source: Source) -> bytes:
    """Return the pickle in a zip file of torch.save, without running it."""
    return Archive(source, check_sums=True).read("data.pkl")


def load(source: Source, restore: Callable[[Any, str], Any], mapped: bool, encoding: str, read: Read = read_safely) -> Any:
    """Load the object in a zip file of torch.save. `read` is the reader of the pickle."""
    archive = Archive(source, check_sums=not mapped)
    if "constants.pkl" in archive:
        raise RuntimeError("load: the file is a TorchScript archive, which is a program; load reads files of torch.save")
    order = archive.read("byteorder") if "byteorder" in archive else assumed_order
    if order not in (b"little", b"big"):
        raise ValueError(f"Unknown endianness type: {order.decode(errors='replace')}")
    storages: dict[str, UntypedStorage] = {}
    known_bools: set[str] = set()

    def persistent(machine: Machine, pid: Any) -> Any:
        kind, key, location, count = check_reference(pid)
        if key not in storages:
            fresh = archive.storage(f"data/{key}", count * (kind.dtype.itemsize if kind.dtype else 1))
            if order == b"big" and kind.dtype is not None:
                fresh.byteswap(kind.dtype)
            storages[key] = restore(fresh, location)
        storage = storages[key]
        if kind.dtype is None:
            return storage
        if str(kind.dtype).endswith("bool") and key not in known_bools:
            check_bools(storage)
            known_bools.add(key)
        return TypedStorage(wrap_storage=storage, dtype=kind.dtype)

    return read(memoryview(archive.read("data.pkl")), persistent, 0, encoding)[0]


def check_reference(pid: Any) -> tuple[StorageType, str, str, int]:
    """Return the parts of a reference to a storage: its type, key, location and number of elements."""
    parts = [text(part) for part in pid[:5]] if isinstance(pid, tuple) else []
    if len(parts) != 5 or len(pid) > 6 or parts[0] != "storage" or not isinstance(parts[1], StorageType):
        raise UnpicklingError("Weights only load failed: a persistent reference to something that is not a storage")
    _, kind, key, location, count = parts
    if type(key) is not str or type(location) is not str or type(count) is not int or count < 0:
        raise UnpicklingError("corrupt pickle: a storage needs a key, a location and a number of elements")
    return kind, key, location, count


def text(part: Any) -> Any:
    """Return the text that Python 2 wrote, if `encoding="bytes"` leaves it as bytes."""
    return part.decode("ascii", "replace") if type(part) is bytes else part


# -- writing -----------------------------------------------------------------------------------------------------------


class _Writer:
    """Writes records sequentially; needs no seeking."""

    def __init__(self, file: IO[bytes], prefix: str) -> None:
        self._file = file
        self._prefix = prefix
        self._at = 0
        self._central: list[bytes] = []

    def _write(self, data: Any) -> None:
        self._file.write(data)
        self._at += len(data)

    def record(self, name: str, data: Any) -> int:
        """Write one record, with its bytes aligned as in torch, and return its checksum."""
        path = f"{self._prefix}/{name}".encode()
        checksum, size, header = crc32(data), len(data), self._at
        wide = size >= _FITS_32
        extra = struct.pack("<HHQQ", 1, 16, size, size) if wide else b""
        unaligned = (header + 30 + len(path) + len(extra) + 4) % _ALIGNMENT
        padding = -unaligned % _ALIGNMENT
        extra += struct.pack("<2sH", b"FB", padding) + b"Z" * padding
        short = _FITS_32 if wide else size
        common = struct.pack("<HHHHHIIIH", 45 if wide else 20, 0x800, 0, 0, 0x21, checksum, short, short, len(path))
        self._write(_LOCAL + common + struct.pack("<H", len(extra)) + path + extra)
        self._write(data)
        numbers = [size, size] * wide + [header] * (header >= _FITS_32)
        extra = struct.pack(f"<HH{len(numbers)}Q", 1, 8 * len(numbers), *numbers) if numbers else b""
        self._central.append(
            _CENTRAL + struct.pack("<H", 45) + common + struct.pack("<HHHHII", len(extra), 0, 0, 0, 0, min(header, _FITS_32)) + path + extra
        )
        return checksum

    def finish(self) -> None:
        """Write the central directory."""
        start, count = self._at, len(self._central)
        directory = b"".join(self._central)
        self._write(directory)
        if start >= _FITS_32 or count >= 0xFFFF or len(directory) >= _FITS_32:
            end64 = self._at
            self._write(_END64 + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, count, count, len(directory), start))
            self._write(_LOCATOR64 + struct.pack("<IQI", 0, end64, 1))
        short = min(count, 0xFFFF)
        self._write(_END + struct.pack("<HHHHIIH", 0, 0, short, short, min(len(directory), _FITS_32), min(start, _FITS_32), 0))


def save(file: IO[bytes], prefix: str, pickled: bytes, storages: list[UntypedStorage]) -> None:
    """Write an archive that torch.load can read."""
    writer = _Writer(file, prefix)
    writer.record("data.pkl", pickled)
    writer.record(".format_version", b"1")
    writer.record(".storage_alignment", str(_ALIGNMENT).encode())
    writer.record("byteorder", b"little")
    total = crc32(pickled)
    for i, storage in enumerate(storages):
        checksum = writer.record(f"data/{i}", memoryview(storage.cpu()))
        total = crc32(checksum.to_bytes(4, "little"), total)  # of the checksums: the bytes are read only once
    writer.record("version", b"3\n")
    writer.record(".data/serialization_id", f"{total:040d}".encode())
    writer.finish()
