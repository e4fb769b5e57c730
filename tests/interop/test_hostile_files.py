"""Malicious files raise, run no code, and allocate no more memory than their own size justifies."""

from __future__ import annotations

import gc
import io
import os
import pickle
import struct
import sys
import tracemalloc
import zipfile
from pathlib import Path

import pytest

import undertow as ut

sys.path.insert(0, str(Path(__file__).parent))
from hostile import MAGIC, archive, entry, legacy, p2, safetensors, storage, tensor

FLOATS = struct.pack("<4f", 1, 2, 3, 4)
both_formats = pytest.mark.parametrize("wrap", [archive, legacy], ids=["zip", "legacy"])


def test_the_helpers_make_files_that_load():
    assert ut.load(archive(tensor(storage()), {"data/0": FLOATS})).tolist() == [1.0, 2.0, 3.0, 4.0]
    rest = pickle.dumps(["0"], protocol=2) + struct.pack("<q", 4) + FLOATS
    assert ut.load(legacy(tensor(storage()), rest)).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert ut.load(safetensors({"a": entry()}, FLOATS[:8]))["a"].tolist() == [1.0, 2.0]


class Evil:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@both_formats
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize(
    "make, named",
    [
        (lambda mark: Evil(os.system, f"touch {mark}"), r"(posix|nt|os)\.system"),
        (lambda mark: Evil(eval, f"open({str(mark)!r}, 'w')"), "eval"),
        (lambda mark: Evil(open, str(mark), "w"), r"io\.open"),
        (lambda mark: Evil(getattr, os, "system"), "getattr"),
        (lambda mark: Evil(__import__, "os"), "__import__"),
        (lambda mark: Evil(pickle.loads, b""), r"loads"),
    ],
)
def test_code_is_named_and_not_run(wrap, protocol, make, named, tmp_path):
    mark = tmp_path / "mark"
    pickled = pickle.dumps([make(mark)] if named != "getattr" else Evil(getattr, "a", "upper"), protocol=protocol)[2:-1]
    for weights_only in (None, True):
        with pytest.raises(pickle.UnpicklingError, match=rf"^Weights only load failed\. Unsupported global: GLOBAL \S*{named}"):
            ut.load(wrap(pickled), weights_only=weights_only)
    assert not mark.exists()


GLOBALS = [
    b"ctorch\nload\n",
    b"ctorch.storage\n_load_from_bytes\n",
    b"cundertow._pickle\nrebuild\n",
    b"ctorch._utils\n_import_dotted_name\n",
    b"cnumpy.core.multiarray\n_reconstruct\n",
    b"c__builtin__\nobject\n",
    b"cbuiltins\nset.__class__\n",
    b"ctorch\nTensor.__init__\n",
    b"ccollections\ndefaultdict\n",
    b"ctorch\nuint3\n",
    b"c\n\n",
]


@both_formats
@pytest.mark.parametrize("name", GLOBALS)
def test_globals_outside_the_table_raise_even_if_not_called(wrap, name):
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        ut.load(wrap(name))
    module, attribute = name[1:-1].split(b"\n")
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        ut.load(wrap(p2(module.decode()) + p2(attribute.decode()) + b"\x93"))


SET, ORDERED = b"c__builtin__\nset\n", b"ccollections\nOrderedDict\n"
BAD_PICKLES = {
    "a builder as the result": b"ctorch._utils\n_rebuild_tensor_v2\n",
    "a builder in a list": b"]ctorch\nTensor\na",
    "a builder in a dict": b"}K\x01ctorch\nTensor\ns",
    "a builder in a tuple in a list": b"]ctorch\nTensor\n\x85a",
    "a builder as a key": b"}ctorch\nTensor\nK\x01s",
    "a call of a class": b"ctorch\nTensor\n)R",
    "a call of a storage type": b"ctorch\nFloatStorage\nK\x08\x85R",
    "a call of an int": b"K\x01)R",
    "arguments that are no tuple": SET + b"]R",
    "an instance by NEWOBJ": SET + b")\x81",
    "an instance by INST": b"(icollections\nOrderedDict\n",
    "an instance by OBJ": b"(" + SET + b"o",
    "an extension": b"\x82\x01",
    "a text opcode": b"I1\n",
    "an out of band buffer": b"\x97",
    "a state for a list": b"]}b",
    "a state that hides a method": ORDERED + b")R}" + p2("keys") + b"K\x01sb",
    "a state with a dunder": ORDERED + b")R}" + p2("__class__") + b"K\x01sb",
    "a bytearray of a size": b"c__builtin__\nbytearray\nJ\x00\x00\x00\x40\x85R",
    "another codec": b"c_codecs\nencode\n" + p2("x") + p2("rot13") + b"\x86R",
    "a set of a string": SET + p2("abc") + b"\x85R",
    "an unhashable key": b"}]K\x01s",
    "a key without value": b"}(K\x01u",
    "an item for a list": b"]K\x01K\x01s",
    "an element for a dict": b"}K\x01a",
    "a set's element for a list": b"](K\x01\x90",
    "memo that is not there": b"h\x05",
    "nothing on the stack": b"0",
    "two results": b"K\x01K\x01",
    "an open mark": b"K\x01(",
    "a global of numbers": b"K\x01K\x01\x93",
    "a protocol of the future": b"\x80\x09N",
    "text that is no UTF-8": b"X\x01\x00\x00\x00\xff",
    "a name without an end": b"c" + b"a" * 5000,
    "a reference to no storage": b"K\x01Q",
    "an int key of 2000 bits": b"}\x8a\xfa" + b"\x01" * 250 + b"K\x01s",
    "a device of the wrong kind": b"ctorch\ndevice\n" + p2("a" * 100) + b"\x85R",
    "a size of text": b"ctorch\nSize\n" + p2(["a"]) + b"\x85R",
    "a parameter of an int": b"ctorch._utils\n_rebuild_parameter\nK\x01\x88}\x87R",
    "a tensor over an int": b"ctorch._utils\n_rebuild_tensor_v2\n(K\x01K\x00)" + b")\x89}tR",
}


@both_formats
@pytest.mark.parametrize("pickled", BAD_PICKLES.values(), ids=list(BAD_PICKLES))
def test_pickles_that_are_wrong_raise(wrap, pickled):
    with pytest.raises(pickle.UnpicklingError):
        ut.load(wrap(pickled))


@both_formats
@pytest.mark.parametrize(
    "pickled",
    [
        b"X\xff\xff\xff\xffa",  # text of 4 GiB
        b"\x8d\xff\xff\xff\xff\xff\xff\xff\x7fa",
        b"\x8b\xff\xff\xff\x7fa",
        b"B\xff\xff\xff\xffa",
        b"\x96\x00\x00\x00\x00\x00\x01\x00\x00a",
        b"\x8b\xff\xff\xff\xffa",  # a negative length
        b"T\xff\xff\xff\xffa",
    ],
)
def test_lengths_beyond_the_file_raise_before_allocating(wrap, pickled):
    file = wrap(pickled)
    tracemalloc.start()
    try:
        with pytest.raises((EOFError, pickle.UnpicklingError)):
            ut.load(file)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_a_huge_memo_index_allocates_no_memory():
    tracemalloc.start()
    try:
        assert ut.load(archive(b"]r\xff\xff\xff\xff0j\xff\xff\xff\xff")) == []
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_copies_of_copies_count_towards_the_limit():
    big = b"](" + b"K\x01" * 1000 + b"eq\x00"
    copies = b"]q\x01(" + (SET + b"h\x00\x85R") * 100 + b"e"
    with pytest.raises(pickle.UnpicklingError, match="would exhaust memory"):
        ut.load(archive(big + b"0" + copies))


def test_a_key_of_nested_tuples_raises_immediately():
    laughs = b")" + b"q\x00h\x00\x86" * 60  # each contains the previous one twice
    with pytest.raises(pickle.UnpicklingError, match="more than 64 parts"):
        ut.load(archive(b"}" + laughs + b"K\x01s"))
    deep = b")" + b"\x85" * 200_000
    with pytest.raises(pickle.UnpicklingError, match="more than 64 parts"):
        ut.load(archive(b"}" + deep + b"K\x01s"))


def test_deep_nesting_is_built_and_freed():
    assert isinstance(ut.load(archive(b"]" * 200_000 + b"a" * 199_999)), list)


@pytest.mark.parametrize(
    "offset, size, stride",
    [
        (1, (4,), (1,)),
        (0, (5,), (1,)),
        (0, (2,), (4,)),
        (0, (2**61,), (8,)),  # wraps to 0 in 64 bits
        (0, (2**62, 4), (1, 1)),
        (2**62, (1,), (1,)),
        (2**64, (1,), (1,)),
        (-1, (1,), (1,)),
        (0, (-1,), (1,)),
        (0, (2,), (-1,)),
        (0, (2, 2), (1,)),
        (0, (2**40, 2**40), (0, 0)),
        (0, (0, 2**70), (1, 1)),
        (0, (1,) * 100, (1,) * 100),
        (0, [4], (1,)),
        (0, (4.0,), (1,)),
        (True, (4,), (1,)),
        (0, (True,), (1,)),
        (None, (4,), (1,)),
    ],
)
def test_layouts_that_exceed_their_storage_raise(offset, size, stride):
    with pytest.raises(pickle.UnpicklingError):
        ut.load(archive(tensor(storage(), offset, size, stride), {"data/0": FLOATS}))


@both_formats
def test_few_bytes_are_not_repeated_without_limit(wrap):
    rest = pickle.dumps(["0"], protocol=2) + struct.pack("<q", 4) + FLOATS
    records = {"data/0": FLOATS} if wrap is archive else rest
    # torch saves expanded tensors and overlapping windows like this.
    assert ut.load(wrap(tensor(storage(), 0, (3, 4), (0, 1)), records)).tolist() == [[1.0, 2.0, 3.0, 4.0]] * 3
    assert ut.load(wrap(tensor(storage(), 0, (1 << 30,), (0,)), records)).shape == (1 << 30,)
    for size, stride in [((10**12,), (0,)), ((2, 10**10), (1, 0)), ((1 << 20, 2, 1 << 20), (0, 1, 0))]:
        with pytest.raises(pickle.UnpicklingError, match="repeats 16 bytes as"):
            ut.load(wrap(tensor(storage(), 0, size, stride), records))


def test_many_open_marks_raise():
    with pytest.raises(pickle.UnpicklingError, match="more than 262144 marks without an end"):
        ut.load(archive(b"(" * 3_000_000))


def test_the_garbage_collector_waits_while_a_pickle_is_built():
    before = [generation["collections"] for generation in gc.get_stats()]
    loaded = ut.load(archive(b"]" * 100_000 + b"a" * 99_999))
    after = [generation["collections"] for generation in gc.get_stats()]
    # Without the pause there would be one for every 700 lists.
    assert sum(after) - sum(before) < 20
    assert gc.isenabled()
    assert len(loaded) == 1
    with pytest.raises(pickle.UnpicklingError):
        ut.load(archive(b"(" * 10))
    assert gc.isenabled()


def test_storages_with_a_wrong_size_raise():
    for count in (0, 3, 5, 2**40, 2**70, -1):
        with pytest.raises((RuntimeError, pickle.UnpicklingError), match="the pickle says|a number of elements"):
            ut.load(archive(tensor(storage(count=count), size=(0,)), {"data/0": FLOATS}))
        rest = pickle.dumps(["0"], protocol=2) + struct.pack("<q", 4) + FLOATS
        with pytest.raises((RuntimeError, pickle.UnpicklingError), match="the pickle says|truncated or corrupt|a number of elements"):
            ut.load(legacy(tensor(storage(count=count), size=(0,)), rest))
    with pytest.raises(RuntimeError, match="failed locating file data/../data.pkl"):
        ut.load(archive(tensor(storage("../data.pkl")), {"data/0": FLOATS}))


def test_storages_of_the_older_format_are_those_that_are_named():
    for keys in ([], ["1"], ["0", "0"], ["0", "1"], [0], "0"):
        with pytest.raises(RuntimeError, match="storages of the file"):
            ut.load(legacy(tensor(storage()), pickle.dumps(keys, protocol=2) + struct.pack("<q", 4) + FLOATS))
    many = b"](" + b"".join(tensor(storage(str(i), 100)) for i in range(50)) + b"e"
    with pytest.raises(RuntimeError, match="truncated or corrupt"):  # more than the file holds, though each alone would fit
        ut.load(legacy(many))


@pytest.mark.parametrize("kind", [b"ctorch\nBoolStorage\n", b"ctorch.storage\nUntypedStorage\n"])
def test_bytes_that_are_not_bools_raise(kind):
    call = tensor(storage(count=4, kind=kind))
    if b"Untyped" in kind:
        call = b"ctorch._utils\n_rebuild_tensor_v3\n" + call.partition(b"v2\n")[2][:-2] + b"ctorch\nbool\ntR"
    assert ut.load(archive(call, {"data/0": b"\x00\x01\x00\x01"})).tolist() == [False, True, False, True]
    with pytest.raises(pickle.UnpicklingError, match="bytes other than 0 and 1"):
        ut.load(archive(call, {"data/0": b"\x00\x01\x02\x01"}))


def test_an_integer_gradient_and_hooks_raise():
    with pytest.raises(pickle.UnpicklingError, match="can require gradients|require grad"):
        ut.load(archive(tensor(storage(kind=b"ctorch\nIntStorage\n"), requires_grad=True), {"data/0": FLOATS}))
    with_hooks = tensor(storage())[:-3] + b"}K\x01K\x01stR"
    with pytest.raises(pickle.UnpicklingError, match="hooks"):
        ut.load(archive(with_hooks, {"data/0": FLOATS}))


def test_attributes_cannot_replace_methods():
    call = b"ctorch._utils\n_rebuild_parameter_with_state\n(" + tensor(storage()) + b"\x88}}" + p2("backward") + b"K\x01stR"
    with pytest.raises(pickle.UnpicklingError, match="attribute 'backward'"):
        ut.load(archive(call, {"data/0": FLOATS}))


# -- archives ----------------------------------------------------------------------------------------------------------


def whole() -> bytes:
    file = io.BytesIO()
    ut.save({"a": ut.arange(100.0), "b": [1, "two"]}, file)
    return file.getvalue()


def test_truncated_and_empty_files_raise():
    data = whole()
    for n in range(0, len(data), 7):
        with pytest.raises((RuntimeError, EOFError), match="central directory|Ran out of input"):
            ut.load(io.BytesIO(data[:n]))


def test_a_flipped_byte_of_a_tensor_raises():
    data = bytearray(whole())
    at = data.find(struct.pack("<2f", 10, 11))
    data[at] ^= 1
    with pytest.raises(RuntimeError, match="checksum"):
        ut.load(io.BytesIO(bytes(data)))


def test_compressed_records_raise():
    bomb = archive(tensor(storage(count=10**7)), {"data/0": bytes(4 * 10**7)}, zipfile.ZIP_DEFLATED)
    assert len(bomb.getvalue()) < 10**5
    with pytest.raises(RuntimeError, match="compressed or encrypted"):
        ut.load(bomb)


def _with_directory(records: list[tuple[bytes, int, int, int]], body: bytes) -> io.BytesIO:
    """A zip of `body` and an arbitrary directory: (name, position, size, checksum)."""
    central = b"".join(
        b"PK\x01\x02" + struct.pack("<HHHHHHIIIHHHHHII", 20, 20, 0, 0, 0, 0, crc, size, size, len(name), 0, 0, 0, 0, 0, at) + name
        for name, at, size, crc in records
    )
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, len(records), len(records), len(central), len(body), 0)
    return io.BytesIO(body + central + end)


def test_overlapping_and_out_of_range_records_raise():
    import zlib

    pickled = b"\x80\x02N."
    local = b"PK\x03\x04" + struct.pack("<HHHHHIIIHH", 20, 0, 0, 0, 0, zlib.crc32(pickled), 4, 4, 10, 0) + b"a/data.pkl" + pickled
    good = (b"a/data.pkl", 0, 4, zlib.crc32(pickled))
    assert ut.load(_with_directory([good], local)) is None
    for bad, message in (
        ((b"a/data/0", 0, 4, 0), "overlaps"),
        ((b"a/data/0", 10, 4, 0), "the header of .* is missing"),
        ((b"a/data/0", 10**9, 4, 0), "truncated"),
        (good, "two records"),
        ((b"a/\xff", 0, 4, 0), "not UTF-8"),
    ):
        with pytest.raises(RuntimeError, match=message):
            ut.load(_with_directory([good, bad], local))
    with pytest.raises(RuntimeError, match="extends beyond the file"):
        ut.load(_with_directory([(b"a/data.pkl", 0, 10**9, 0)], local))
    with pytest.raises(RuntimeError, match="is empty"):
        ut.load(_with_directory([], local))
    with pytest.raises(RuntimeError, match="failed locating file data.pkl"):
        ut.load(_with_directory([(b"a/other", 0, 4, 0)], local))


def test_other_archives_raise_and_are_named():
    with pytest.raises(RuntimeError, match="TorchScript"):
        ut.load(archive(b"N", {"constants.pkl": b""}))
    with pytest.raises(ValueError, match="Unknown endianness type: middle"):
        ut.load(archive(b"N", {"byteorder": b"middle"}))
    with pytest.raises(RuntimeError, match="^Invalid magic number; corrupt file"):
        ut.load(io.BytesIO(b"hello, world, this is text"))
    with pytest.raises(RuntimeError, match="tar file"):
        ut.load(io.BytesIO(bytes([1]) + bytes(256) + b"ustar" + bytes(250)))
    with pytest.raises(RuntimeError, match="Invalid magic number"):
        ut.load(io.BytesIO(pickle.dumps({}, protocol=2)))
    with pytest.raises(RuntimeError, match="Invalid protocol version: 7"):
        ut.load(io.BytesIO(MAGIC + pickle.dumps(7, protocol=2)))


# -- safetensors -------------------------------------------------------------------------------------------------------

BAD_HEADERS = {
    "a dtype that does not exist": ({"a": entry("F99")}, 8),
    "a dtype that is no text": ({"a": entry(3)}, 8),
    "a float4": ({"a": entry("F4", (16,))}, 8),
    "a shape that does not fit": ({"a": entry(shape=(3,))}, 8),
    "a shape that takes less": ({"a": entry(shape=(1,))}, 8),
    "a shape that wraps": ({"a": entry(shape=(2**62, 4), offsets=(0, 0))}, 0),
    "a huge size beside a zero": ({"a": entry(shape=(0, 2**64), offsets=(0, 0))}, 0),
    "a negative size": ({"a": entry(shape=(-2, -1))}, 8),
    "a size that is a bool": ({"a": entry(shape=(True, 2))}, 8),
    "a size that is a float": ({"a": entry(shape=(2.0,))}, 8),
    "too many sizes": ({"a": entry(shape=(1,) * 100, offsets=(0, 4))}, 4),
    "three positions": ({"a": entry(offsets=(0, 8, 8))}, 8),
    "positions backwards": ({"a": entry(offsets=(8, 0))}, 8),
    "a position beyond the file": ({"a": entry(offsets=(8, 16))}, 8),
    "tensors that overlap": ({"a": entry(), "b": entry()}, 8),
    "tensors that overlap in part": ({"a": entry(), "b": entry(offsets=(4, 12))}, 12),
    "a hole": ({"a": entry(), "b": entry(offsets=(12, 20))}, 20),
    "bytes left over": ({"a": entry()}, 9),
    "bytes missing": ({"a": entry()}, 7),
    "a key too many": ({"a": {**entry(), "x": 1}}, 8),
    "a key too few": ({"a": {"dtype": "F32"}}, 8),
    "an entry that is a list": ({"a": []}, 8),
    "metadata of numbers": ({"__metadata__": {"a": 1}}, 0),
    "metadata that is text": ({"__metadata__": "a"}, 0),
    "a header that is a list in braces": (b"{[]}", 0),
    "no JSON": (b"{not json}", 0),
    "a name twice": (b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', 8),
    "a key twice": (b'{"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}}', 8),
    "NaN": (b'{"a":{"dtype":"F32","shape":[NaN],"data_offsets":[0,8]}}', 8),
    "text that is no UTF-8": (b'{"\xff":1}', 0),
    "deep nesting": (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", 0),
    "a long number": (b'{"a":{"dtype":"F32","shape":[' + b"9" * 10_000 + b'],"data_offsets":[0,8]}}', 8),
}


@pytest.mark.parametrize("header, count", BAD_HEADERS.values(), ids=list(BAD_HEADERS))
def test_wrong_headers_raise(header, count):
    with pytest.raises(RuntimeError, match="^load: not a valid safetensors file"):
        ut.load(safetensors(header, bytes(count)))


@pytest.mark.parametrize("length", [3, 10**7, 10**9, 2**63, 2**64 - 1])
def test_a_wrong_header_length_raises_before_allocating(length):
    file = safetensors({"a": entry()}, bytes(8), length)
    tracemalloc.start()
    try:
        with pytest.raises(RuntimeError, match="not a valid safetensors file|truncated or corrupt"):
            ut.load(file)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_bytes_that_are_not_bools_raise_in_safetensors():
    with pytest.raises(pickle.UnpicklingError, match="bytes other than 0 and 1"):
        ut.load(safetensors({"a": entry("BOOL", (2,), (0, 2))}, b"\x01\x07"))


@pytest.mark.parametrize(
    "structure",
    [
        "[", "{}", "[]", "[1]", '["eval", "1"]', '["dict", 1]', '["dict", ["a"]]', '["tensor", "missing"]', '["tensor"]', '["tensor", 1]', '["dtype", "Tensor"]',
        '["dtype", "nothing"]', '["device", "nowhere"]', '["bytes", "xyz"]', '["complex", 1]', '["complex tensor", "a"]', '["set", ["list"]]', '["Size", "a"]',
        '["dict", [["list"], 1]]', "[" * 100_000, '["list", ' * 5_000 + "1" + "]" * 5_000,
    ],
)  # fmt: skip
def test_structures_that_are_wrong_raise(structure):
    with pytest.raises(RuntimeError, match="structure in the safetensors file's metadata is corrupt"):
        ut.load(safetensors({"__metadata__": {"undertow.structure": structure}, "a": entry("F32", (3,), (0, 12))}, bytes(12)))
