"""Corners of `save` and `load` that programs depend on: compressed files, empty storages, the environment, classes that wrap tensors."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import re
import zipfile

import pytest

import undertow as ut
from undertow import serialization


class Pair(ut.Tensor):
    """Two tensors; has no memory of its own."""

    @staticmethod
    def __new__(cls, first, second):
        return ut.Tensor._make_wrapper_subclass(cls, first.shape, dtype=first.dtype, device=first.device)

    def __init__(self, first, second):
        self.first, self.second = first, second

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise NotImplementedError(func)


class Slotted(ut.Tensor):
    """Has an attribute that is not in its dict."""

    __slots__ = ("inside",)


class Counting(ut.Tensor):
    """Has a state of its own."""

    def __getstate__(self):
        return {"count": self.count + 1}

    def __setstate__(self, state):
        self.count = state["count"] * 10


def saved(obj, **options):
    file = io.BytesIO()
    ut.save(obj, file, **options)
    file.seek(0)
    return file


def with_references(*parts):
    """Return a pickle of a tuple of references to parts of the storage with the key 0, which has two floats."""
    text = lambda t: b"X" + len(t).to_bytes(4, "little") + t.encode()
    one = lambda key, start, count: (
        b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text("0") + text("cpu") + b"K\x02"
        + text(key) + bytes((75, start, 75, count)) + b"\x87tQ"
    )  # fmt: skip
    return b"\x80\x02(" + b"".join(one(*part) for part in parts) + b"t."


@pytest.mark.parametrize("zipped", [True, False])
def test_a_compressed_file_is_read_through_its_file_object(zipped, tmp_path):
    values = [ut.arange(5), "text"]
    with gzip.open(tmp_path / "x.pt.gz", "wb") as file:
        file.write(saved(values, _use_new_zipfile_serialization=zipped).getvalue())
    with gzip.open(tmp_path / "x.pt.gz", "rb") as file:
        loaded = ut.load(file)
    assert loaded[0].tolist() == [0, 1, 2, 3, 4] and loaded[1] == "text"


def test_an_older_file_is_read_with_its_texts_as_bytes():
    file = saved(ut.arange(3), _use_new_zipfile_serialization=False)
    content = file.getvalue()
    key = b"X\x0d\x00\x00\x00little_endian"  # a text of Python 3; Python 2 wrote a string of bytes
    assert content.count(key) == 1
    file = io.BytesIO(content.replace(key, b"U\x0dlittle_endian"))
    assert ut.load(file, encoding="bytes").tolist() == [0, 1, 2]


@pytest.mark.parametrize("unsafe", [False, True])
def test_all_texts_of_a_file_of_python_2_may_be_read_as_bytes(unsafe):
    content = saved([ut.arange(3), "text"], _use_new_zipfile_serialization=False).getvalue()
    older = re.sub(rb"X(.)\0\0\0", lambda match: b"U" + match[1], content, flags=re.DOTALL)
    assert len(older) < len(content)
    t, text = ut.load(io.BytesIO(older), encoding="bytes", weights_only=not unsafe)
    assert t.tolist() == [0, 1, 2] and text == b"text"


def test_a_file_without_checksums_is_read():
    file = saved({"a": ut.arange(3)})
    content = bytearray(file.getvalue())
    for record in zipfile.ZipFile(file).infolist():
        content[record.header_offset + 14 : record.header_offset + 18] = bytes(4)
    at = content.find(b"PK\x01\x02")
    while at >= 0:
        content[at + 16 : at + 20] = bytes(4)
        at = content.find(b"PK\x01\x02", at + 1)
    assert ut.load(io.BytesIO(content))["a"].tolist() == [0, 1, 2]


def test_attributes_in_slots_are_saved_with_a_tensor():
    t = ut.ones(2).as_subclass(Slotted)
    t.inside, t.outside = ut.arange(2), "text"
    with serialization.safe_globals([Slotted]):
        loaded = ut.load(saved(t))
    assert type(loaded) is Slotted and loaded.inside.tolist() == [0, 1] and loaded.outside == "text"


@pytest.mark.parametrize("zipped", [True, False])
def test_an_empty_storage_may_be_seen_as_two_dtypes(zipped):
    a = ut.empty(0)
    b = ut.empty(0, dtype=ut.int16).set_(a.untyped_storage(), 0, (0,), (1,))
    loaded = ut.load(saved([a, b], _use_new_zipfile_serialization=zipped))
    assert [t.dtype for t in loaded] == [ut.float32, ut.int16]


def test_parts_of_a_storage_in_a_very_old_file_share_its_memory():
    # The file has one storage of two elements; each part of it has a key, an offset and a number of elements.
    file = saved(ut.tensor([3.0, 4.0]), _use_new_zipfile_serialization=False).getvalue()
    start, end = file.index(b"ctorch._utils") - 2, file.rindex(b"\x80\x02]")
    file = file[:start] + with_references(("first", 0, 1), ("second", 1, 1), ("second", 1, 1)) + file[end:]
    first, second, again = ut.load(io.BytesIO(file))
    assert (first[0], second[0]) == (3.0, 4.0) and second.data_ptr() == first.data_ptr() + 4 == again.data_ptr()
    with pytest.raises(pickle.UnpicklingError, match="bytes 4 to 12 of a storage of 8"):
        ut.load(io.BytesIO(file.replace(b"K\x01K\x01\x87", b"K\x01K\x02\x87")))
    with pytest.raises(pickle.UnpicklingError, match="a part of a storage needs a key, an offset and a number of elements"):
        ut.load(io.BytesIO(file.replace(b"X\x05\x00\x00\x00firstK\x00K\x01\x87", b"}")))


def test_an_object_that_cannot_seek_says_what_to_do():
    class Stream:
        def read(self):
            return b""

    with pytest.raises(AttributeError, match=r"only torch.load from a file that is seekable.*io.BytesIO"):
        ut.load(Stream())


def test_the_environment_may_force_safe_loading(monkeypatch):
    module = saved(ut.nn.Linear(2, 1))
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(pickle.UnpicklingError, match="Unsupported global"):
        ut.load(module, weights_only=False)


def test_the_environment_may_lift_the_default_but_not_what_a_program_says(monkeypatch):
    module = saved(ut.nn.Linear(2, 1))
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "yes")
    with pytest.raises(pickle.UnpicklingError, match="Unsupported global"):
        ut.load(module, weights_only=True)
    module.seek(0)
    with pytest.warns(UserWarning) as warned:
        assert isinstance(ut.load(module), ut.nn.Linear)
    assert "forcing weights_only=False" in str(warned[0].message)
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "true")
    with pytest.raises(RuntimeError, match="Only one of"):
        ut.load(module)


def test_functions_of_the_operating_system_cannot_be_allowed():
    file = saved(os.execv)
    with serialization.safe_globals([os.execv]), pytest.raises(pickle.UnpicklingError, match="posix.execv whose module posix is blocked"):
        ut.load(file)


def test_a_class_that_wraps_tensors_is_read_once_it_is_allowed():
    file = saved({"pair": Pair(ut.ones(2, 3), ut.arange(6.0).reshape(2, 3))})
    with pytest.raises(pickle.UnpicklingError, match=r"Unsupported global: GLOBAL .*Pair"):
        ut.load(file)
    file.seek(0)
    with serialization.safe_globals([Pair]):
        pair = ut.load(file)["pair"]
    assert type(pair) is Pair and pair.shape == (2, 3)
    assert pair.second.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_subclass_of_tensor_restores_the_state_it_defines():
    t = ut.ones(2).as_subclass(Counting)
    t.count = 1
    file = saved(t)
    with serialization.safe_globals([Counting]):
        loaded = ut.load(file)
    assert type(loaded) is Counting and loaded.count == 20 and loaded.tolist() == [1, 1]
