"""However the bytes of a file are changed, `load` quickly returns or raises one of its errors, and runs no code."""

from __future__ import annotations

import io
import pickle
import pickletools  # noqa: F401  (load names opcodes by it)
import sys
import zipfile
from collections import OrderedDict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import undertow as ut

sys.path.insert(0, str(Path(__file__).parent))
from hostile import archive, entry, legacy, p2, safetensors, storage, tensor

ERRORS = (pickle.UnpicklingError, RuntimeError, EOFError)
SETTINGS = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))


def _files() -> dict[str, bytes]:
    shared = ut.arange(6.0).reshape(2, 3)
    obj = OrderedDict(w=shared, v=shared[0], b=ut.ones(2, dtype=ut.bool), p=ut.nn.Parameter(ut.ones(1)), n=[1, 2.5, "x", None, (1, 2), {3}, 1j, b"y"])
    files = {}
    for name, new in (("zip", True), ("legacy", False)):
        file = io.BytesIO()
        ut.save(obj, file, _use_new_zipfile_serialization=new)
        files[name] = file.getvalue()
    files["safetensors"] = safetensors({"a": entry(), "b": entry("I64", (1, 1), (8, 16)), "__metadata__": {"x": "y"}}, bytes(16)).getvalue()
    structure = {"undertow.structure": '["dict", ["x", ["tensor", "a"]], [1, ["tuple", null, ["float", "inf"]]]]'}
    files["nested"] = safetensors({"a": entry(), "__metadata__": structure}, bytes(8)).getvalue()
    return files


FILES = _files()


_watching = False
_FORBIDDEN = ("exec", "compile", "import", "open", "os.", "subprocess.", "socket.", "ctypes.", "pickle.")


def _on_event(event: str, args: tuple) -> None:
    if _watching and event.startswith(_FORBIDDEN):
        raise AssertionError(f"load caused {event} of {args}")


sys.addaudithook(_on_event)


def check(data: bytes) -> None:
    global _watching
    file = io.BytesIO(data)
    _watching = True
    try:
        loaded = ut.load(file)
    except ERRORS:
        return
    finally:
        _watching = False
    open_, seen = [loaded], set()
    while open_:  # the result is valid: every tensor can be read
        value = open_.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, ut.Tensor):
            assert value.numel() < 10_000
            value.tolist()
        elif isinstance(value, dict):
            open_ += [*value, *value.values()]
        elif isinstance(value, (list, tuple, set)):
            open_ += value


@pytest.mark.parametrize("name", FILES)
@SETTINGS
@given(data=st.data())
def test_files_with_bytes_changed(name, data):
    changed = bytearray(FILES[name])
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(changed) - 1))
        changed[at] = data.draw(st.one_of(st.integers(0, 255), st.sampled_from(b".(Rcb\x93\x81\xff\x00QhqtX{}[]\"")))
    check(bytes(changed))


@pytest.mark.parametrize("name", FILES)
@SETTINGS
@given(data=st.data())
def test_files_with_parts_removed_repeated_or_put_in(name, data):
    whole = FILES[name]
    begin, end, to = (data.draw(st.integers(0, len(whole))) for _ in range(3))
    middle = data.draw(st.sampled_from([b"", whole[begin:end], whole[end:begin], data.draw(st.binary(max_size=20))]))
    check(whole[:to] + middle + whole[data.draw(st.sampled_from([to, begin, end])) :])


def _inside() -> tuple[bytes, dict[str, bytes]]:
    """The pickle of the zip file, and its storages."""
    with zipfile.ZipFile(io.BytesIO(FILES["zip"])) as z:
        records = {n.partition("/")[2]: z.read(n) for n in z.namelist()}
    return records.pop("data.pkl")[2:-1], {n: data for n, data in records.items() if n.startswith("data/")}


PICKLED, RECORDS = _inside()


@SETTINGS
@given(data=st.data())
def test_pickles_with_bytes_changed_under_the_right_checksum(data):
    changed = bytearray(PICKLED)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(changed) - 1))
        changed[at] = data.draw(st.one_of(st.integers(0, 255), st.sampled_from(b".(Rcb\x93\x81\xff\x00QhqtX012KJ")))
    check(archive(bytes(changed), RECORDS).getvalue())


OPCODES = st.one_of(
    st.sampled_from([bytes([c]) for c in b"(012NRabdelstu)]}.Q"]),
    st.sampled_from([bytes([c]) for c in (0x81, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8F, 0x90, 0x91, 0x93, 0x94)]),
    st.builds(lambda c, n: bytes([c, n]), st.sampled_from(b"hqK"), st.integers(0, 5)),
    st.sampled_from([b"ctorch._utils\n_rebuild_tensor_v2\n", b"ctorch._utils\n_rebuild_parameter\n", b"ctorch\nSize\n", b"ctorch\nTensor\n", b"ctorch\nFloatStorage\n"]),
    st.sampled_from([b"ccollections\nOrderedDict\n", b"ccollections\nCounter\n", b"c__builtin__\nset\n", b"c__builtin__\nbytearray\n", b"c_codecs\nencode\n", b"c__builtin__\ncomplex\n"]),
    st.sampled_from([b"cos\nsystem\n", b"c__builtin__\neval\n", p2("a"), p2("latin1"), p2("storage"), p2("0"), p2("cpu"), p2(4), p2((2,)), p2((1,)), p2({"x": 1})]),
    st.sampled_from([storage(), tensor(storage()), storage(count=5), tensor(storage(), 1), p2([1, 2]), p2(2**70), p2(-1), p2(1.5)]),
)


@pytest.mark.parametrize("wrap", [lambda p: archive(p, {"data/0": bytes(16)}), legacy], ids=["zip", "legacy"])
@SETTINGS
@given(opcodes=st.lists(OPCODES, max_size=25))
def test_programs_of_opcodes(wrap, opcodes):
    check(wrap(b"".join(opcodes)).getvalue())


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 2**70), st.floats(), st.sampled_from(["F32", "a", "BOOL", "U8", ""])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["dtype", "shape", "data_offsets", "x"]), inner, max_size=3)),
    max_leaves=8,
)
ENTRY = st.fixed_dictionaries({"dtype": st.sampled_from(["F32", "U8", "BOOL", "I64"]), "shape": st.lists(st.integers(-1, 4), max_size=3)}).flatmap(
    lambda e: st.lists(st.integers(-1, 20), min_size=2, max_size=2).map(lambda o: {**e, "data_offsets": o})
)


@SETTINGS
@given(header=st.dictionaries(st.sampled_from(["a", "b", "c", "__metadata__"]), st.one_of(ENTRY, JSON), max_size=3), count=st.integers(0, 24))
def test_headers_of_any_shape(header, count):
    check(safetensors(header, bytes(count)).getvalue())


STRUCTURE = st.recursive(
    st.one_of(st.none(), st.integers(), st.sampled_from(["a", "inf", "float32", "00", "cpu"])),
    lambda inner: st.builds(lambda kind, rest: [kind, *rest], st.sampled_from(["dict", "list", "tuple", "set", "Size", "tensor", "complex tensor", "float", "bytes", "dtype", "device", "complex"]), st.lists(inner, max_size=3)),
    max_leaves=10,
)


@SETTINGS
@given(structure=STRUCTURE)
def test_structures_of_any_shape(structure):
    import json

    check(safetensors({"__metadata__": {"undertow.structure": json.dumps(structure)}, "a": entry()}, bytes(8)).getvalue())


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**80), 2**80), st.floats(allow_nan=False), st.text(), st.binary(), st.complex_numbers(allow_nan=False)),
    lambda inner: st.one_of(
        st.lists(inner), st.lists(inner).map(tuple), st.dictionaries(st.one_of(st.text(), st.integers(-(2**60), 2**60), st.tuples(st.integers(-9, 9))), inner), st.sets(st.text())
    ),
    max_leaves=20,
)


@pytest.mark.parametrize("form", ["zip", "legacy", "safetensors"])
@settings(SETTINGS, max_examples=30)
@given(value=VALUES)
def test_any_value_is_restored(value, form, tmp_path_factory):
    if form == "safetensors":
        path = tmp_path_factory.getbasetemp() / "value.safetensors"
        ut.save(value, path)
        assert ut.load(path) == value
        return
    file = io.BytesIO()
    ut.save(value, file, _use_new_zipfile_serialization=form == "zip")
    file.seek(0)
    assert ut.load(file) == value
