"""Files can be exchanged between our `save`/`load`, torch's, and the safetensors library."""

from __future__ import annotations

import io
from collections import Counter, OrderedDict

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import undertow as ut

DTYPES = [*("bool", "uint8", "int8", "int16", "int32", "int64"), *("float16", "bfloat16", "float32", "float64", "complex64", "complex128")]
both_formats = pytest.mark.parametrize("new", [True, False], ids=["zip", "legacy"])


def from_torch_file(obj, new=True, **options):
    file = io.BytesIO()
    torch.save(obj, file, _use_new_zipfile_serialization=new)
    file.seek(0)
    return ut.load(file, **options)


def to_torch_file(obj, new=True):
    file = io.BytesIO()
    ut.save(obj, file, _use_new_zipfile_serialization=new)
    file.seek(0)
    return torch.load(file, weights_only=True)


def same(ours, theirs):
    assert str(ours.dtype).partition(".")[2] == str(theirs.dtype).partition(".")[2]
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert tuple(ours.stride()) == tuple(theirs.stride())
    assert ours.storage_offset() == theirs.storage_offset()
    assert ours.requires_grad == theirs.requires_grad
    assert ours.tolist() == theirs.tolist()


def scenario(lib):
    base = lib.arange(12.0)
    noted = lib.ones(2)
    noted.note = "here"
    parameter = lib.nn.Parameter(lib.ones(2, 2))
    parameter.tag = [1]
    return [
        *(lib.tensor([[0, 1], [2, 3]]).to(getattr(lib, name)) for name in DTYPES),
        *(base, base[2:8:2], base.reshape(3, 4).T, lib.ones(1).expand(3), lib.ones(0), lib.tensor(3.5)),
        *(noted, parameter, lib.nn.Parameter(base[:2], requires_grad=False), lib.ones(2, requires_grad=True)),
        *(lib.tensor([1 + 2j]).conj(), lib.tensor([1 + 2j]).conj().imag),
    ]


@both_formats
def test_torch_tensors_are_read(new):
    theirs = scenario(torch)
    ours = from_torch_file(theirs, new)
    for a, b in zip(ours, theirs, strict=True):
        same(a, b)
        assert type(a).__name__ == type(b).__name__
        assert vars(a) == vars(b)
    shared = [t for t in ours if t.untyped_storage() == ours[len(DTYPES)].untyped_storage()]
    assert len(shared) == 4


@both_formats
def test_torch_reads_our_tensors(new):
    ours = scenario(ut)
    theirs = to_torch_file(ours, new)
    for a, b in zip(ours, theirs, strict=True):
        same(a, b)
        assert type(a).__name__ == type(b).__name__
        assert vars(a) == vars(b)
    assert theirs[len(DTYPES)].untyped_storage().data_ptr() == theirs[len(DTYPES) + 1].untyped_storage().data_ptr()


PLAIN = {
    "numbers": [0, 255, 256, 65536, -1, 2**31, 2**100, -(2**100), 0.1, float("inf"), True, None],
    "text": ["", "ä\U0001f600", b"\x00\xff", bytearray(b"x"), 1 - 2j],
    "containers": [(), (1,), (1, 2, 3, 4), [], {}, {1: 2, (1, 2): 3}, {1, 2}, OrderedDict(b=1, a=2), Counter("aab")],
    "many": list(range(3000)),
    "many keys": {str(i): i for i in range(3000)},
}


@both_formats
def test_plain_values_are_exchanged(new):
    assert from_torch_file(PLAIN, new) == PLAIN
    assert to_torch_file(PLAIN, new) == PLAIN


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_every_protocol_of_torch_is_read(protocol):
    file = io.BytesIO()
    torch.save({**PLAIN, "t": torch.ones(2), "dtype": torch.float32, "size": torch.Size([2])}, file, pickle_protocol=protocol)
    file.seek(0)
    back = ut.load(file)
    assert back.pop("t").tolist() == [1.0, 1.0]
    assert back.pop("dtype") is ut.float32
    assert back.pop("size") == ut.Size([2])
    assert back == PLAIN


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_sizes_devices_dtypes_and_storages_are_exchanged():
    size, device, dtype = from_torch_file([torch.Size([2, 3]), torch.device("cpu"), torch.bfloat16])
    assert (size, str(device), dtype) == (ut.Size([2, 3]), "cpu", ut.bfloat16)
    assert to_torch_file([ut.Size([2, 3]), ut.device("cpu"), ut.bfloat16]) == [torch.Size([2, 3]), torch.device("cpu"), torch.bfloat16]
    assert from_torch_file(torch.ones(2).untyped_storage()).nbytes() == 8
    assert to_torch_file(ut.ones(2).untyped_storage()).nbytes() == 8


@both_formats
def test_models_and_optimizers_move_between_the_libraries(new):
    def made(lib):
        model = lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.ReLU(), lib.nn.Linear(4, 1))
        return model, lib.optim.Adam(model.parameters(), lr=0.1)

    def step(lib, model, optimizer):
        optimizer.zero_grad()
        model(lib.ones(2, 3)).sum().backward()
        optimizer.step()

    theirs, their_optimizer = made(torch)
    step(torch, theirs, their_optimizer)
    ours, our_optimizer = made(ut)
    state = from_torch_file({"model": theirs.state_dict(), "optimizer": their_optimizer.state_dict()}, new)
    ours.load_state_dict(state["model"])
    our_optimizer.load_state_dict(state["optimizer"])
    for _ in range(3):
        step(torch, theirs, their_optimizer)
        step(ut, ours, our_optimizer)
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert ut.allclose(a, ut.tensor(b.detach().numpy()), atol=1e-6)
    back, back_optimizer = made(torch)
    state = to_torch_file({"model": ours.state_dict(), "optimizer": our_optimizer.state_dict()}, new)
    back.load_state_dict(state["model"])
    back_optimizer.load_state_dict(state["optimizer"])
    step(torch, back, back_optimizer)
    step(ut, ours, our_optimizer)
    for a, b in zip(ours.parameters(), back.parameters()):
        assert ut.allclose(a, ut.tensor(b.detach().numpy()), atol=1e-6)


def test_whole_torch_modules_raise_and_are_named():
    from pickle import UnpicklingError

    with pytest.raises(UnpicklingError, match="GLOBAL torch.nn.modules.linear.Linear"):
        from_torch_file(torch.nn.Linear(1, 1))
    with pytest.raises(UnpicklingError, match="bits8"):
        from_torch_file(torch.bits8)


@pytest.mark.filterwarnings("ignore")
def test_torch_maps_and_unpacks_our_files(tmp_path):
    import zipfile

    path = tmp_path / "model.pt"
    ut.save({"a": ut.arange(100.0)}, path)
    assert torch.load(path, mmap=True)["a"].tolist() == list(range(100))
    with zipfile.ZipFile(path) as z:
        assert z.testzip() is None
        theirs = tmp_path / "theirs.pt"
        torch.save({"a": torch.arange(100.0)}, theirs)
        assert {n.partition("/")[2] for n in z.namelist()} == {n.partition("/")[2] for n in zipfile.ZipFile(theirs).namelist()}
        for info in z.infolist():
            if "/data/" in info.filename:
                z.fp.seek(info.header_offset + 26)
                name, extra = int.from_bytes(z.fp.read(2), "little"), int.from_bytes(z.fp.read(2), "little")
                assert (info.header_offset + 30 + name + extra) % 64 == 0
    assert ut.load(theirs, mmap=True)["a"].tolist() == list(range(100))


@pytest.mark.slow
def test_an_archive_with_more_records_than_the_old_directory_counts():
    tensors = [ut.full((1,), float(i)) for i in range(66_000)]
    file = io.BytesIO()
    ut.save(tensors, file)
    file.seek(0)
    assert torch.load(file)[-1].item() == 65_999
    file.seek(0)
    assert ut.load(file)[-1].item() == 65_999


safetensors = pytest.importorskip("safetensors.torch")


def test_safetensors_are_exchanged(tmp_path):
    path = tmp_path / "x.safetensors"
    ours = {name: ut.tensor([[0, 1], [2, 3]]).to(getattr(ut, name)) for name in DTYPES if name != "complex128"}
    ours["scalar"], ours["empty"], ours["odd"] = ut.tensor(1.5), ut.ones(0, 3), ut.ones(3, dtype=ut.uint8)
    ut.save(ours, path)
    theirs = safetensors.load_file(path)
    assert set(theirs) == set(ours)
    for name in ours:
        same(ours[name], theirs[name])
    safetensors.save_file(theirs, path, metadata={"a": "b"})
    for mmap in (False, True):
        back = ut.load(path, mmap=mmap)
        assert set(back) == set(ours)
        for name in ours:
            same(ours[name], back[name])


def test_nested_safetensors_are_still_readable_elsewhere(tmp_path):
    path = tmp_path / "x.safetensors"
    ut.save({"state": {0: {"step": ut.tensor(3.0), "big": ut.ones(2, dtype=ut.complex128)}}, "lr": 0.1}, path)
    theirs = safetensors.load_file(path)
    assert theirs["state.0.step"].item() == 3.0
    assert tuple(theirs["state.0.big"].shape) == (2, 2)
    assert ut.load(path)["state"][0]["big"].dtype is ut.complex128


@pytest.mark.parametrize("zipped", [True, False])
def test_modules_travel_in_both_directions(zipped, tmp_path):
    def layers(nn):
        return nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.BatchNorm1d(3), nn.LSTMCell(3, 3), nn.MultiheadAttention(4, 2), nn.Conv2d(1, 1, 1))

    theirs, ours = layers(torch.nn), layers(ut.nn)
    torch.save(theirs, tmp_path / "theirs.pt", _use_new_zipfile_serialization=zipped)
    ut.save(ours, tmp_path / "ours.pt", _use_new_zipfile_serialization=zipped)
    with pytest.warns(UserWarning, match="can run any code"):
        here = ut.load(tmp_path / "theirs.pt", weights_only=False)
    there = torch.load(tmp_path / "ours.pt", weights_only=False)
    assert repr(here) == repr(theirs) and repr(there) == repr(ours)
    x = [[1.0, 2.0]]
    for a, b in ((here[0](ut.tensor(x)), theirs[0](torch.tensor(x))), (ours[0](ut.tensor(x)), there[0](torch.tensor(x)))):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-6)
