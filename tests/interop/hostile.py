"""Malicious files for the tests of `load`: pickles by opcode, archives with false headers."""

from __future__ import annotations

import io
import json
import pickle
import struct
import zipfile

TENSOR = b"ctorch._utils\n_rebuild_tensor_v2\n"
MAGIC = pickle.dumps(0x1950A86A20F9469CFC6C, protocol=2)
FACTS = pickle.dumps({"protocol_version": 1001, "little_endian": True, "type_sizes": {}}, protocol=2)


def p2(value) -> bytes:
    """A plain value as opcodes, without the first and last opcode."""
    data = pickle.dumps(value, protocol=2)
    return data[2:-1]


def archive(pickled: bytes, records: dict[str, bytes] | None = None, compression: int = zipfile.ZIP_STORED) -> io.BytesIO:
    """A zip file as torch writes them, around any pickle."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as z:
        z.writestr("archive/data.pkl", b"\x80\x02" + pickled + b".")
        z.writestr("archive/version", b"3\n")
        for name, data in (records or {}).items():
            z.writestr(f"archive/{name}", data)
    file.seek(0)
    return file


def legacy(pickled: bytes, rest: bytes = pickle.dumps([], protocol=2)) -> io.BytesIO:
    """A file of the older format around any pickle."""
    return io.BytesIO(MAGIC + pickle.dumps(1001, protocol=2) + FACTS + b"\x80\x02" + pickled + b"." + rest)


def storage(key: str = "0", count: int = 4, kind: bytes = b"ctorch\nFloatStorage\n", location: str = "cpu") -> bytes:
    """A reference to a storage."""
    return b"(" + p2("storage") + kind + p2(key) + p2(location) + p2(count) + b"tQ"


def tensor(reference: bytes, offset=0, size=(4,), stride=(1,), requires_grad=False) -> bytes:
    """A call that builds a tensor."""
    return TENSOR + b"(" + reference + p2(offset) + p2(size) + p2(stride) + p2(requires_grad) + b"}tR"


def safetensors(header, data: bytes = b"", length: int | None = None) -> io.BytesIO:
    """A safetensors file with any header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return io.BytesIO(struct.pack("<Q", len(text) if length is None else length) + text + data)


def entry(dtype="F32", shape=(2,), offsets=(0, 8)) -> dict:
    """One tensor of a header."""
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}
