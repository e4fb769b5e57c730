"""`Saver`: names, the state file, which checkpoints are kept, and what a crash leaves."""

from __future__ import annotations

import json
import os
import struct

import pytest

import undertow as ut
from undertow import train
from undertow.train import _checkpoint_state, _files


@pytest.fixture(autouse=True)
def own_graph():
    train.reset_default_graph()
    yield
    train.reset_default_graph()


def names_in(folder):
    return sorted(p.name for p in folder.iterdir())


def test_save_returns_a_prefix_that_restore_takes(tmp_path):
    w = train.Variable([1.0, 2.0], name="w")
    step = train.Variable(7, name="global_step", trainable=False)
    saver = train.Saver()
    path = saver.save(tmp_path / "model.ckpt", global_step=step)
    assert path == str(tmp_path / "model.ckpt-7") and names_in(tmp_path) == ["checkpoint", "model.ckpt-7.safetensors"]
    w.assign([0.0, 0.0])
    saver.restore(path)
    assert w.tolist() == [1, 2]
    w.assign([0.0, 0.0])
    saver.restore(path + ".safetensors")
    assert w.tolist() == [1, 2] and w.is_leaf and w.requires_grad
    assert set(ut.load(path + ".safetensors")) == {"w", "global_step"}  # a safetensors file like any other
    assert train.Saver(pad_step_number=True).save(tmp_path / "padded", 7) == str(tmp_path / "padded-00000007")


def test_checkpoints_can_be_listed_and_read_without_a_program(tmp_path):
    kept = [train.Variable([[1.0, 2.0]], name="layer/w"), train.Variable(3, name="step")]
    path = train.Saver(kept).save(tmp_path / "model", 3)
    assert train.latest_checkpoint(tmp_path) == path and train.checkpoint_exists(path) and not train.checkpoint_exists(tmp_path / "other")
    assert train.list_variables(tmp_path) == train.list_variables(path) == [("layer/w", [1, 2]), ("step", [])]
    assert train.load_variable(tmp_path, "layer/w").tolist() == [[1, 2]]
    reader = train.load_checkpoint(path)
    assert reader.has_tensor("step") and not reader.has_tensor("w") and reader.get_variable_to_dtype_map()["step"] == ut.int64
    assert len(train.get_checkpoint_mtimes([path, "nothing"])) == 1
    with pytest.raises(ValueError, match="Key w not found in checkpoint .*layer/w, step"):
        train.load_variable(path, "w")
    with pytest.raises(ValueError, match="Couldn't find 'checkpoint' file"):
        (tmp_path / "empty").mkdir()
        train.load_checkpoint(tmp_path / "empty")
    assert train.latest_checkpoint(tmp_path / "empty") is None
    train.remove_checkpoint(path)
    assert train.latest_checkpoint(tmp_path) is None
    with pytest.raises(TypeError, match="expected the path of a checkpoint, got NoneType"):
        train.list_variables(train.latest_checkpoint(tmp_path))


def test_a_dict_gives_the_names_in_the_file(tmp_path):
    w, p = train.Variable(1.0, name="w"), ut.nn.Parameter(ut.ones(2))
    path = train.Saver({"old/w": w, "p": p}).save(tmp_path / "model")
    assert [name for name, _ in train.list_variables(path)] == ["old/w", "p"]
    other = train.Variable(0.0, name="anything")
    train.Saver({"old/w": other}).restore(path)
    assert other.item() == 1


def test_averages_are_restored_into_their_variables(tmp_path):
    v = train.Variable(0.0, name="v")
    ema = train.ExponentialMovingAverage(0.75)
    ema.apply([v])
    v.assign(4.0)
    ema.apply([v])
    path = train.Saver().save(tmp_path / "model")
    assert [name for name, _ in train.list_variables(path)] == ["v", "v/ExponentialMovingAverage"]
    train.Saver(ema.variables_to_restore()).restore(path)
    assert v.item() == 1


def test_the_default_is_everything_that_exists_with_the_state_of_optimizers(tmp_path):
    w = train.Variable(1.0, name="w")
    first, second = train.AdamOptimizer(0.1), train.AdamOptimizer(0.2)
    other = train.Variable(2.0, name="other")
    saver = train.Saver()  # before the first step: slots do not exist yet
    first.minimize(w * w)
    second.minimize(other * other)
    second.minimize(other * other)
    path = saver.save(tmp_path / "model")
    assert [name for name, _ in train.list_variables(path)] == [
        "beta1_power", "beta1_power_1", "beta2_power", "beta2_power_1", "other", "other/Adam", "other/Adam_1", "w", "w/Adam", "w/Adam_1",
    ]  # fmt: skip
    expected = [v.tolist() for v in (*first.variables(), *second.variables())]
    first.minimize(w * w)
    second.minimize(other * other)
    saver.restore(path)
    assert [v.tolist() for v in (*first.variables(), *second.variables())] == expected


def test_mistakes_raise_before_anything_changes(tmp_path):
    w, b = train.Variable(1.0, name="w"), train.Variable([2.0], name="b")
    opt = train.MomentumOptimizer(0.1, 0.9)
    path = train.Saver([w]).save(tmp_path / "model")
    w.assign(5.0)
    with pytest.raises(ValueError, match="Key b not found in checkpoint"):
        train.Saver([w, b]).restore(path)
    with pytest.raises(ValueError, match="'w': the saved value has shape \\(\\)"):
        train.Saver({"w": b}).restore(path)
    with pytest.raises(ValueError, match="saved without the optimizer or moving average 'Momentum'"):
        train.Saver([w, opt]).restore(path)
    assert w.item() == 5
    train.Saver({"w": b}, reshape=True).restore(path)
    assert b.tolist() == [1]
    with pytest.raises(ValueError, match="is not a valid checkpoint: .*nowhere"):
        train.Saver([w]).restore(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="save_path when it is None"):
        train.Saver([w]).restore(None)
    with pytest.raises(TypeError, match="there are no sessions"):
        train.Saver([w]).save(object(), "model")
    with pytest.raises(ValueError, match="Parent directory of .* doesn't exist"):
        train.Saver([w]).save(tmp_path / "missing" / "model")
    with pytest.raises(ValueError, match="At least two variables have the same name: w"):
        train.Saver([w, train.Variable(1.0, name="w")])
    with pytest.raises(TypeError, match="pass a dict to give a tensor a name"):
        train.Saver([ut.ones(1)])
    with pytest.raises(ValueError, match="No variables to save"):
        train.Saver([])
    with pytest.raises(ValueError, match="must not contain path components"):
        train.Saver([w]).save(tmp_path / "model", latest_filename="a/b")
    layer = ut.nn.Linear(1, 1)
    opt.minimize(layer(ut.ones(1)).sum())
    with pytest.raises(ValueError, match="which has no name; use train.Checkpoint"):
        train.Saver([opt]).save(tmp_path / "model")


def test_the_newest_are_kept_and_the_state_file_names_them(tmp_path):
    w = train.Variable(1.0, name="w")
    saver = train.Saver([w], max_to_keep=2)
    paths = [saver.save(tmp_path / "m", i) for i in range(4)]
    assert saver.last_checkpoints == paths[2:]
    assert names_in(tmp_path) == ["checkpoint", "m-2.safetensors", "m-3.safetensors"]
    state = train.get_checkpoint_state(tmp_path)
    assert state.model_checkpoint_path == paths[3] and state.all_model_checkpoint_paths == paths[2:]
    text = (tmp_path / "checkpoint").read_text().splitlines()
    assert text[:3] == ['model_checkpoint_path: "m-3"', 'all_model_checkpoint_paths: "m-2"', 'all_model_checkpoint_paths: "m-3"']
    saver.save(tmp_path / "m", 3)  # again the same: nothing is removed
    assert saver.last_checkpoints == paths[2:]
    fresh = train.Saver([w], max_to_keep=2)
    fresh.recover_last_checkpoints([*paths])
    assert fresh.last_checkpoints == paths[2:]
    fresh.save(tmp_path / "m", 4)
    assert names_in(tmp_path) == ["checkpoint", "m-3.safetensors", "m-4.safetensors"]
    for everything in (None, 0):
        keeper = train.Saver([w], max_to_keep=everything)
        for i in range(10, 17):
            keeper.save(tmp_path / "k", i)
        assert len(keeper.last_checkpoints) == 7
    moved = tmp_path.rename(tmp_path.parent / "moved")
    assert train.latest_checkpoint(moved) == str(moved / "k-16")


def test_one_every_n_hours_is_kept_for_good(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(_checkpoint_state.time, "time", lambda: now[0])
    saver = train.Saver([train.Variable(1.0, name="w")], max_to_keep=1, keep_checkpoint_every_n_hours=2)
    for hour in range(7):
        now[0] = hour * 3600.0
        saver.save(tmp_path / "m", hour)
    assert names_in(tmp_path) == ["checkpoint", "m-2.safetensors", "m-4.safetensors", "m-6.safetensors"]


@pytest.mark.parametrize("fails", ["write", "fsync", "replace"])
@pytest.mark.parametrize("at", [0, 1])
def test_a_save_that_fails_anywhere_leaves_the_last_checkpoint(fails, at, tmp_path, monkeypatch):
    w = train.Variable(1.0, name="w")
    saver = train.Saver([w], max_to_keep=1)
    first = saver.save(tmp_path / "m", 1)
    before = names_in(tmp_path)
    state = (tmp_path / "checkpoint").read_bytes()
    calls = []

    def failing(real):
        def call(*args):
            calls.append(1)
            if len(calls) == (2 * at + 1 if fails == "fsync" else at + 1):  # a file and its folder are flushed
                raise OSError("disk full")
            return real(*args)

        return call

    if fails == "write":
        real = _files.write_safely
        monkeypatch.setattr(_files, "write_safely", failing(real))
        monkeypatch.setattr(_checkpoint_state, "write_safely", failing(real))
    else:
        monkeypatch.setattr(os, fails, failing(getattr(os, fails)))
    w.assign(2.0)
    with pytest.raises(OSError, match="disk full"):
        saver.save(tmp_path / "m", 2)
    monkeypatch.undo()
    assert train.latest_checkpoint(tmp_path) == first and (tmp_path / "checkpoint").read_bytes() == state
    assert set(before) <= set(names_in(tmp_path)) and not [n for n in names_in(tmp_path) if n.endswith(".tmp")]
    saver.restore(first)
    assert w.item() == 1


def test_files_are_flushed_before_they_are_renamed_and_the_state_file_is_last(tmp_path, monkeypatch):
    log = []
    real_sync, real_replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (log.append("flush"), real_sync(fd))[1])
    monkeypatch.setattr(os, "replace", lambda a, b: (log.append(os.path.basename(b)), real_replace(a, b))[1])
    train.Saver([train.Variable(1.0, name="w")]).save(tmp_path / "m")
    assert log == ["flush", "m.safetensors", "flush", "flush", "checkpoint", "flush"]


def test_a_damaged_file_raises_and_runs_nothing(tmp_path):
    w = train.Variable(1.0, name="w")
    saver = train.Saver([w])
    path = saver.save(tmp_path / "m")
    whole = (tmp_path / "m.safetensors").read_bytes()
    (tmp_path / "m.safetensors").write_bytes(whole[:-1])
    with pytest.raises(RuntimeError, match="truncated"):
        saver.restore(path)
    (size,) = struct.unpack("<Q", whole[:8])
    header = json.loads(whole[8 : 8 + size])
    header["__metadata__"]["undertow.train"] = "{"
    text = json.dumps(header).encode()
    (tmp_path / "m.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + whole[8 + size :])
    with pytest.raises(RuntimeError, match="not valid JSON"):
        saver.restore(path)
    for text in ("garbage", 'model_checkpoint_path: __import__("os")\n', "model_checkpoint_path: 3\n"):
        (tmp_path / "checkpoint").write_text(text)
        assert train.latest_checkpoint(tmp_path) is None
