"""python -m tools.fuzz.files: changes bytes of checkpoint files and loads them. See README.md."""

from __future__ import annotations

import argparse
import functools
import io
import pickle
import pickletools  # noqa: F401  (load names opcodes by it; an import during the load is a finding)
import random
import struct
import sys
import zipfile
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from tools.fuzz import children

FORMATS = ("zip", "legacy", "safetensors")
ERRORS = (pickle.UnpicklingError, RuntimeError, EOFError, NotImplementedError, ValueError)
# Opcodes with which an attack would be built, and numbers that overflow.
PIECES = [
    b"(",
    b"t",
    b"R",
    b"b",
    b"]",
    b"}",
    b"a",
    b"s",
    b"u",
    b"e",
    b"Q",
    b"2",
    b"0",
    b"1",
    b"N",
    b".",
    b"\x81",
    b"\x93",
    b"\x94",
    b"h\x00",
    b"K\x00",
    b"\x88",
    b")",
    b"\x85",
    b"\x86",
]
PIECES += [
    b"cos\nsystem\n",
    b"cbuiltins\neval\n",
    b"ctorch._utils\n_rebuild_tensor_v2\n",
    b"ccollections\nOrderedDict\n",
    b"ctorch\nFloatStorage\n",
    b"ctorch\nBoolStorage\n",
]
PIECES += [b"\x8a\x08" + n.to_bytes(8, "little") for n in (0, 1, 2**31, 2**62, 2**63 - 1)] + [
    b"J\xff\xff\xff\xff",
    b"X\xff\xff\xff\xff",
    b"\x8b\xff\xff\xff\x7f",
    b"T\xff\xff\xff\x7f",
]
NUMBERS = [0, 1, 2, 7, 8, 255, 256, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
TEXTS = [
    b"-1",
    b"1e9",
    b"99999999999999999999",
    b"null",
    b"[]",
    b"{}",
    b'"F64"',
    b'"BOOL"',
    b'"__metadata__"',
    b"[0,0]",
    b"[4611686018427387904,4]",
    b"\xed\xa0\x80",
    b'"\\ud800"',
]


@functools.cache
def originals() -> dict[str, tuple[bytes, ...]]:
    """Some valid files of each format. They must not depend on anything, or numbers would mean different files."""
    import undertow as ut

    shared = ut.arange(6.0).reshape(2, 3)
    rich: Any = OrderedDict(
        w=shared, v=shared[0], t=shared.t(), b=ut.ones(2, dtype=ut.bool), p=ut.nn.Parameter(ut.ones(1)), z=ut.ones(1, dtype=ut.complex64).conj()
    )
    rich["n"] = [1, 2.5, "x", None, (1, 2), {3}, 1j, b"y", ut.float16, ut.Size([2])]
    objects: list[Any] = [rich, {"a": ut.zeros(2), "b": [ut.zeros(0), ut.ones(1).expand(3)]}, ut.ones(3, dtype=ut.int64)]
    files: dict[str, tuple[bytes, ...]] = {}
    for name, new in (("zip", True), ("legacy", False)):
        made = []
        for obj in objects:
            file = io.BytesIO()
            ut.save(obj, file, _use_new_zipfile_serialization=new)
            made.append(file.getvalue())
        files[name] = tuple(made)
    header = (
        b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"I64","shape":[1,1],"data_offsets":[8,16]},"__metadata__":{"x":"y"}}'
    )
    nested = b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},'
    nested += b'"__metadata__":{"undertow.structure":"[\\"dict\\",[\\"x\\",[\\"tensor\\",\\"a\\"]]]"}}'
    files["safetensors"] = tuple(struct.pack("<Q", len(h)) + h + bytes(n) for h, n in ((header, 16), (nested, 8), (b"{}", 0)))
    return files


def _records(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as z:
        return {i.filename: z.read(i) for i in z.infolist()}


def _archive(records: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as z:
        for name, data in records.items():
            z.writestr(zipfile.ZipInfo(name), data)
    return file.getvalue()


def _changed(rng: random.Random, data: bytes, pieces: list[bytes]) -> bytes:
    """Return bytes with one to four changes."""
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 4])):
        at = rng.randrange(len(out) + 1)
        kind = rng.randrange(9)
        if kind == 0 and out:
            out[at % len(out)] = rng.randrange(256)
        elif kind == 1 and out:
            out[at % len(out)] ^= 1 << rng.randrange(8)
        elif kind == 2:
            out[at:at] = rng.choice(pieces)
        elif kind == 3:
            piece = rng.choice(pieces)
            out[at : at + len(piece)] = piece
        elif kind == 4:
            del out[at : at + rng.choice([1, 1, 2, 4, 8, 64])]
        elif kind == 5:
            size = rng.choice([1, 2, 4, 8])
            out[at : at + size] = (rng.choice(NUMBERS) % (1 << 8 * size)).to_bytes(size, "little")
        elif kind == 6:
            start, length = rng.randrange(len(out) + 1), rng.choice([1, 4, 16, 64])
            out[at:at] = out[start : start + length]
        elif kind == 7:
            del out[at:]
        else:
            out[at:at] = rng.choice(pieces) * rng.choice([2, 10, 1000])
    return bytes(out)


def mutant(seed: int, number: int, kind: str) -> bytes:
    """Return mutation number `number` of a format."""
    rng = random.Random(f"{seed}:{kind}:{number}")
    data = rng.choice(originals()[kind])
    if kind == "safetensors":
        (length,) = struct.unpack("<Q", data[:8])
        if rng.random() < 0.2:
            return _changed(rng, data, TEXTS)
        header = _changed(rng, data[8 : 8 + length], TEXTS)  # with the length corrected
        return struct.pack("<Q", len(header)) + header + data[8 + length :]
    if kind == "legacy" or rng.random() < 0.2:
        return _changed(rng, data, PIECES)
    records = _records(data)  # with corrected checksums, so that the change is read
    name = "archive/data.pkl" if rng.random() < 0.8 else rng.choice(list(records))
    name = name if name in records else next(n for n in records if n.endswith("data.pkl"))
    records[name] = _changed(rng, records[name], PIECES)
    return _archive(records)


_FORBIDDEN = ("exec", "compile", "import", "open", "os.", "subprocess.", "socket.", "ctypes.", "pickle.", "marshal.", "shutil.")
_events: list[str] = []
_watching = False


def _on_event(event: str, args: tuple[Any, ...]) -> None:
    if _watching and event.startswith(_FORBIDDEN):
        _events.append(event)
        raise AssertionError(f"load caused {event} of {args}")


def _tensors(loaded: Any) -> Iterator[Any]:
    import undertow as ut

    open_, seen = [loaded], set()
    while open_:
        item = open_.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, ut.Tensor):
            yield item
        elif isinstance(item, dict):
            open_ += [*item, *item.values()]
        elif isinstance(item, (list, tuple, set, frozenset)):
            open_ += item


def attempt(seed: int, number: int, kind: str) -> list[tuple[str, str]]:
    """Load one mutation; return what was wrong about it."""
    global _watching
    import undertow as ut

    file = io.BytesIO(mutant(seed, number, kind))
    findings: list[tuple[str, str]] = []
    _events.clear()
    _watching = True
    try:
        loaded = ut.load(file)
    except ERRORS as error:
        if children.LEAKED.search(str(error)):
            findings.append(("text", f"{type(error).__name__}: {error}"))
    except Exception as error:
        findings.append(("error", f"{type(error).__name__}: {error}"))
    else:
        _watching = False
        for t in _tensors(loaded):
            if t.numel() <= 100_000 and not t.is_meta:
                t.tolist()
    finally:
        _watching = False
    return findings + [("code", event) for event in _events]


def _shown(seed: int, kind: str, number: int) -> str:
    return f"{kind}, {len(mutant(seed, number, kind))} bytes"


def main(arguments: list[str] | None = None) -> int:
    """Run the fuzzer; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz.files", description=__doc__)
    children.limits(parser)
    parser.add_argument("--mutations", type=int, default=10_000, help="of each format")
    parser.add_argument("--format", choices=FORMATS, action="append", help="all of them if not given")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    formats = options.format or FORMATS
    if options.child is not None:
        originals()
        sys.addaudithook(_on_event)
        children.serve(lambda number: attempt(options.seed, number, formats[0]), options, options.child)
        return 0
    count = 0
    for kind in formats:
        findings = children.run(
            "tools.fuzz.files",
            options,
            options.mutations,
            ["--format", kind],
            functools.partial(_shown, options.seed, kind),
        )
        print(f"tools.fuzz.files: {options.mutations} mutations of {kind} files, seed {options.seed}: {len(findings)} findings", flush=True)
        count += len(findings)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
