"""`save` and `load`: objects are restored in each format, with layout, sharing and class."""

from __future__ import annotations

import io
import pickle
from collections import Counter, OrderedDict, namedtuple

import numpy as np
import pytest

import undertow as ut

DTYPES = [*("bool", "uint8", "int8", "int16", "int32", "int64"), *("float16", "bfloat16", "float32", "float64", "complex64", "complex128")]
FORMATS = ["zip", "legacy", "safetensors"]


def through(obj, form, tmp_path, **options):
    path = tmp_path / ("x.safetensors" if form == "safetensors" else "x.pt")
    ut.save(obj, path, _use_new_zipfile_serialization=form != "legacy")
    return ut.load(path, **options)


every_format = pytest.mark.parametrize("form", FORMATS)
torch_formats = pytest.mark.parametrize("form", ["zip", "legacy"])


@every_format
@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_is_restored_bit_for_bit(name, form, tmp_path):
    x = ut.tensor([[0, 1, 2], [3, 4, 5]]).to(getattr(ut, name))
    y = through({"x": x}, form, tmp_path)["x"]
    assert (y.dtype, y.shape) == (x.dtype, x.shape)
    assert bytes(y.untyped_storage()) == bytes(x.untyped_storage())


@every_format
@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (2, 3, 4)])
def test_every_shape_is_restored(shape, form, tmp_path):
    x = ut.ones(shape)
    y = through([x], form, tmp_path)[0]
    assert (y.shape, y.tolist()) == (x.shape, x.tolist())


NESTED = {
    "number": 1,
    "numbers": [0, 255, 256, 65535, 65536, -1, 2**31, -(2**31) - 1, 2**100, -(2**100)],
    "floats": (0.1, float("inf"), -0.0),
    "text": ["", "a", "ä\n\"\U0001f600"],
    "many": list(range(2500)),
    "nothing": None,
    "truth": [True, False],
    "bytes": b"\x00\xff",
    "complex": 1 - 2j,
    "keys": {1: "a", 2.5: "b", (1, "x"): "c", None: "d", False: "e"},
    "empty": [(), [], {}, set(), OrderedDict()],
    "ordered": OrderedDict(b=1, a=2),
    "set": {1, 2, "x"},
    "counter": Counter("aab"),
    "size": ut.Size([2, 3]),
    "dtype": ut.bfloat16,
    "device": ut.device("cpu"),
}


@every_format
def test_containers_and_plain_values_are_restored(form, tmp_path):
    back = through(NESTED, form, tmp_path)
    assert back == NESTED
    assert list(back) == list(NESTED)
    for name, value in NESTED.items():
        assert type(back[name]) is type(value), name
    assert str(back["floats"][2]) == "-0.0"
    assert list(back["ordered"]) == ["b", "a"]


@every_format
def test_nan_is_restored(form, tmp_path):
    (back,) = through([float("nan")], form, tmp_path)
    assert back != back


@torch_formats
def test_layout_and_sharing_are_kept(form, tmp_path):
    base = ut.arange(12.0)
    parts = [base, base[2:8:2], base.reshape(3, 4).T, ut.ones(1).expand(5)]
    back = through(parts, form, tmp_path)
    for x, y in zip(parts, back):
        assert (x.tolist(), x.stride(), x.storage_offset()) == (y.tolist(), y.stride(), y.storage_offset())
    back[0].fill_(7)
    assert back[1].tolist() == [7.0] * 3
    assert back[2].sum().item() == 84
    assert back[3].tolist() == [1.0] * 5
    assert base[0].item() == 0


@torch_formats
def test_an_object_saved_twice_stays_one_object(form, tmp_path):
    x, shared = ut.ones(2), [1]
    a, b, c, d = through([x, x, shared, shared], form, tmp_path)
    assert a is b
    assert c is d


@torch_formats
def test_an_object_may_contain_itself(form, tmp_path):
    items = [1]
    items.append({"me": (items,)})
    back = through(items, form, tmp_path)
    assert back[1]["me"][0] is back
    with pytest.raises(ValueError, match="contains itself"):
        ut.save(items, tmp_path / "y.safetensors")


@torch_formats
def test_parameters_requires_grad_and_attributes_are_kept(form, tmp_path):
    p, frozen, leaf = ut.nn.Parameter(ut.ones(2)), ut.nn.Parameter(ut.ones(2), requires_grad=False), ut.ones(2, requires_grad=True)
    p.note, leaf.note = "of p", ["of leaf"]
    back = through([p, frozen, leaf, leaf * 2], form, tmp_path)
    assert [type(t) for t in back] == [ut.nn.Parameter, ut.nn.Parameter, ut.Tensor, ut.Tensor]
    assert [t.requires_grad for t in back] == [True, False, True, True]
    assert all(t.is_leaf for t in back)
    assert (back[0].note, back[2].note) == ("of p", ["of leaf"])


@every_format
def test_conjugate_and_negative_views_keep_their_values(form, tmp_path):
    z = ut.tensor([1 + 2j, 3 - 4j])
    for x in (z.conj(), z.conj().imag):
        y = through({"x": x}, form, tmp_path)["x"]
        assert y.tolist() == x.tolist()


def test_state_dicts_of_models_and_optimizers_are_restored(tmp_path):
    def made():
        ut.manual_seed(0)
        model = ut.nn.Sequential(ut.nn.Linear(3, 4), ut.nn.ReLU(), ut.nn.Linear(4, 1))
        return model, ut.optim.Adam(model.parameters(), lr=0.1)

    model, optimizer = made()

    def step(model, optimizer):
        optimizer.zero_grad()
        model(ut.ones(2, 3)).sum().backward()
        optimizer.step()

    step(model, optimizer)
    for form in FORMATS:
        again, optimizer_again = made()
        state = through({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, form, tmp_path)
        again.load_state_dict(state["model"])
        optimizer_again.load_state_dict(state["optimizer"])
        twin, optimizer_twin = made()
        twin.load_state_dict(model.state_dict())
        optimizer_twin.load_state_dict(optimizer.state_dict())
        step(again, optimizer_again)
        step(twin, optimizer_twin)
        for a, b in zip(again.parameters(), twin.parameters()):
            assert a.tolist() == b.tolist()
    assert through(model.state_dict(), "zip", tmp_path)._metadata == model.state_dict()._metadata


def test_file_objects_and_paths(tmp_path):
    file = io.BytesIO()
    ut.save({"a": ut.ones(2)}, file)
    assert file.getvalue().startswith(b"PK")
    with pytest.raises(EOFError, match="already read to the end"):
        ut.load(file)
    file.seek(0)
    assert ut.load(file)["a"].tolist() == [1.0, 1.0]
    with open(tmp_path / "f", "wb") as out:
        ut.save(ut.ones(3), out)
    with open(tmp_path / "f", "rb") as back:
        assert ut.load(back).tolist() == [1.0] * 3
    assert ut.load(str(tmp_path / "f")).tolist() == [1.0] * 3


def test_several_objects_of_the_older_format_follow_each_other_in_one_file():
    file = io.BytesIO()
    for n in range(3):
        ut.save(ut.full((2,), float(n)), file, _use_new_zipfile_serialization=False)
    file.seek(0)
    assert [ut.load(file).tolist() for _ in range(3)] == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]


@pytest.mark.parametrize("name", ["x.pt", "x.safetensors"])
def test_mapped_tensors_are_writable_and_leave_the_file_unchanged(name, tmp_path):
    path = tmp_path / name
    ut.save({"a": ut.arange(1000.0), "b": ut.ones(3, dtype=ut.bool), "c": ut.ones(1, dtype=ut.uint8)}, path)
    before = path.read_bytes()
    back = ut.load(path, mmap=True)
    assert back["a"].tolist() == list(range(1000))
    back["a"].fill_(3)
    assert back["a"].sum().item() == 3000
    assert path.read_bytes() == before
    assert ut.load(path)["a"][5].item() == 5


def test_mmap_needs_a_path_and_a_format_that_can_be_mapped(tmp_path):
    with pytest.raises(ValueError, match="f must be a file path"):
        ut.load(io.BytesIO(b"x"), mmap=True)
    ut.save(ut.ones(1), tmp_path / "old", _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match="mmap can only be used"):
        ut.load(tmp_path / "old", mmap=True)


Pair = namedtuple("Pair", "a b")


class Warm(ut.Tensor):
    pass


NOT_IN_SAFETENSORS = [
    lambda: ut.nn.Linear(1, 1),
    lambda: {"a": [abs]},
    lambda: Pair(1, 2),
    lambda: np.float64(1),
    lambda: [object()],
    lambda: ut.ones(1).as_subclass(Warm),
]


@pytest.mark.parametrize("make", NOT_IN_SAFETENSORS)
def test_objects_that_a_safetensors_file_cannot_hold_raise_and_the_file_is_unchanged(make, tmp_path):
    path = tmp_path / "x.safetensors"
    path.write_bytes(b"precious")
    with pytest.raises(TypeError, match="save: cannot write a "):
        ut.save(make(), path)
    assert path.read_bytes() == b"precious"


@pytest.mark.parametrize("make, error", [(lambda: lambda: 1, AttributeError), (lambda: iter([open]) and type("Lost", (), {})(), pickle.PicklingError)])
def test_objects_that_cannot_be_pickled_raise_and_the_file_is_unchanged(make, error, tmp_path):
    path = tmp_path / "x.pt"
    path.write_bytes(b"precious")
    with pytest.raises(error, match="Can't pickle"):
        ut.save(make(), path)
    assert path.read_bytes() == b"precious"


def test_one_storage_with_two_dtypes_raises():
    x = ut.ones(2)
    y = ut.TypedStorage(wrap_storage=x.untyped_storage(), dtype=ut.int32)
    with pytest.raises(RuntimeError, match="^Cannot save multiple tensors or storages that view the same data as different types"):
        ut.save([x, y], io.BytesIO())


def test_arguments_are_checked(tmp_path):
    with pytest.raises(RuntimeError, match="Parent directory .* does not exist"):
        ut.save({}, tmp_path / "no" / "x.pt")
    with pytest.raises(AttributeError, match="expected 'f' to be string, path, or a file-like object"):
        ut.save({}, 3)
    with pytest.raises(AttributeError, match="has no attribute 'read'"):
        ut.load(3)
    with pytest.raises(FileNotFoundError):
        ut.load(tmp_path / "missing.pt")
    with pytest.raises(ValueError, match="pickle_module"):
        ut.load(tmp_path / "missing.pt", pickle_module=io)
    with pytest.raises(TypeError, match="unexpected arguments fix_imports"):
        ut.load(tmp_path / "missing.pt", fix_imports=True)
    import pickle

    file = io.BytesIO()
    ut.save(1, file, pickle, 4)
    file.seek(0)
    assert ut.load(file, None, pickle, weights_only=False, encoding="latin1") == 1


def test_map_location_sees_every_storage_once(tmp_path):
    x = ut.ones(2)
    seen = []

    def place(storage, location):
        seen.append((type(storage), location))
        return storage

    through([x, x[:1], ut.ones(3)], "zip", tmp_path, map_location=place)
    assert seen == [(ut.UntypedStorage, "cpu")] * 2
    for place in ("cpu", ut.device("cpu"), {"cuda:0": "cpu"}, lambda storage, location: None):
        assert through([x], "zip", tmp_path, map_location=place)[0].tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        through([x], "zip", tmp_path, map_location="cuda")
    with pytest.raises(RuntimeError, match="don't know how to restore data location"):
        through([x], "zip", tmp_path, map_location="xla")
    with pytest.raises(TypeError, match="map_location must be"):
        through([x], "zip", tmp_path, map_location=3)
    with pytest.raises(TypeError, match="map_location returned a int"):
        through([x], "zip", tmp_path, map_location=lambda storage, location: 3)


def test_hooks_are_left_out_with_a_warning():
    x = ut.ones(2, requires_grad=True)
    x.register_hook(abs)
    with pytest.warns(UserWarning, match="^backward hook .* on tensor will not be serialized"):
        ut.save(x, io.BytesIO())


@pytest.mark.parametrize("zipped", [True, False])
def test_what_is_saved_to_an_open_file_can_be_read_by_its_name(tmp_path, zipped):
    path = tmp_path / "weights.pt"
    with open(path, "wb") as file:
        ut.save({"w": ut.ones(2)}, file, _use_new_zipfile_serialization=zipped)
        assert ut.load(path)["w"].tolist() == [1.0, 1.0]


def test_a_file_of_a_big_endian_machine_is_read():
    import zipfile

    file, swapped = io.BytesIO(), io.BytesIO()
    values = [ut.tensor([1.0, 2.0, 3.0]), ut.tensor([1 + 2j]), ut.tensor([True, False])]
    ut.save(values, file)
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(swapped, "w") as new:
        sizes = {f"data/{i}": size for i, size in enumerate((4, 4, 1))}
        for name in old.namelist():
            data, part = old.read(name), name.partition("/")[2]
            if part in sizes:
                data = b"".join(data[i : i + sizes[part]][::-1] for i in range(0, len(data), sizes[part]))
            new.writestr(name, b"big" if part == "byteorder" else data)
    swapped.seek(0)
    assert [t.tolist() for t in ut.load(swapped)] == [t.tolist() for t in values]


def test_a_pickle_module_cannot_be_combined_with_weights_only():
    import pickle as module

    with pytest.raises(RuntimeError, match="Can not safely load weights when explicit pickle_module is specified"):
        ut.load(io.BytesIO(), weights_only=True, pickle_module=module)
