"""`Checkpoint`: objects by the names on the way to them, restoration at creation, the status; `CheckpointManager`."""

from __future__ import annotations

import gc
import json
import logging
import pickle
import struct

import pytest

import undertow as ut
from undertow import train
from undertow.train import _checkpoint_state, _restoration


def stepped(w, times=2):
    opt = train.AdamOptimizer(0.1)
    for _ in range(times):
        opt.minimize((w * w).sum())
    return opt


def test_values_are_matched_by_attribute_not_by_name(tmp_path):
    a, b = train.Variable(1.0, name="same"), train.Variable(2.0, name="same")
    path = train.Checkpoint(a=a, nested=train.Checkpoint(b=b)).save(tmp_path / "ckpt")
    assert path == str(tmp_path / "ckpt-1") and train.latest_checkpoint(tmp_path) == path
    new = train.Checkpoint(nested=train.Checkpoint(b=train.Variable(0.0)), a=train.Variable(0.0, name="other"))
    assert new.restore(path).assert_consumed().assert_existing_objects_matched() is not None
    assert new.a.item() == 1 and new.nested.b.item() == 2


def test_keys_are_those_of_tensorflow(tmp_path):
    w = train.Variable([1.0], name="w")
    path = train.Checkpoint(model={"w.1/x": w}, opt=stepped(w)).save(tmp_path / "ckpt")
    value = "/.ATTRIBUTES/VARIABLE_VALUE"
    w_key = "model/w..1.Sx"
    keys = [w_key, f"{w_key}/.OPTIMIZER_SLOT/opt/m", f"{w_key}/.OPTIMIZER_SLOT/opt/v", "opt/beta1_power", "opt/beta2_power", "save_counter"]
    assert [name for name, _ in train.list_variables(path)] == sorted(key + value for key in keys)


def test_modules_lists_and_shared_objects_are_followed(tmp_path):
    ut.manual_seed(0)
    net = ut.nn.Sequential(ut.nn.Linear(2, 2), ut.nn.BatchNorm1d(2))
    extra = [train.Variable(1.0), {"deep": train.Variable(2.0)}]
    opt = train.MomentumOptimizer(0.1, 0.9)
    opt.minimize(net(ut.randn(4, 2)).sum() + extra[0] * 1)
    path = train.Checkpoint(net=net, same=net[0], extra=extra, opt=opt).save(tmp_path / "ckpt")
    other = ut.nn.Sequential(ut.nn.Linear(2, 2), ut.nn.BatchNorm1d(2))
    again = [train.Variable(0.0), {"deep": train.Variable(0.0)}]
    new = train.MomentumOptimizer(0.1, 0.9)
    status = train.Checkpoint(net=other, same=other[0], extra=again, opt=new).restore(path)
    for name, value in net.state_dict().items():
        assert (other.state_dict()[name] == value).all(), name
    assert again[0].item() == extra[0].item() and again[1]["deep"].item() == 2
    with pytest.raises(AssertionError, match="Unresolved object in checkpoint .*OPTIMIZER_SLOT/opt/momentum"):
        status.assert_consumed()  # slots exist after the first step
    x = ut.randn(4, 2)
    opt.minimize(net(x).sum() + extra[0] * 1)
    new.minimize(other(x).sum() + again[0] * 1)
    status.assert_consumed()
    assert (net[0].weight == other[0].weight).all() and new.get_slot(again[0], "momentum").item() == opt.get_slot(extra[0], "momentum").item()


def test_a_root_gives_its_own_attributes_as_first_names(tmp_path):
    layer, other = ut.nn.Linear(1, 1), ut.nn.Linear(1, 1)
    path = train.Checkpoint(layer, step=train.Variable(3)).write(tmp_path / "exact")
    assert path == str(tmp_path / "exact") and train.latest_checkpoint(tmp_path) is None
    train.Checkpoint(weight=other.weight, bias=other.bias).read(path).assert_existing_objects_matched().expect_partial()
    assert (layer.weight == other.weight).all()
    with pytest.raises(ValueError, match="the root already has an attribute 'bias'"):
        train.Checkpoint(layer, bias=train.Variable(1.0)).write(path)


class Net(ut.nn.Module):
    def build(self):
        self.w = train.Variable(ut.zeros(2))
        self.layer = ut.nn.Linear(2, 1)
        self.register_buffer("seen", ut.zeros(()))

    def forward(self, x):
        return self.layer(x * self.w)


def test_variables_are_restored_when_they_are_created(tmp_path):
    net = Net()
    net.build()
    net.w.assign([1.0, 2.0])
    net.seen.add_(3)
    opt = stepped(net.w, 1)
    path = train.Checkpoint(net=net, opt=opt).save(tmp_path / "ckpt")

    late, new = Net(), train.AdamOptimizer(0.1)
    status = train.Checkpoint(net=late, opt=new).restore(path)
    status.assert_existing_objects_matched()
    with pytest.raises(AssertionError, match="Unresolved object"):
        status.assert_consumed()
    late.build()
    assert (late.w == net.w).all() and (late.layer.weight == net.layer.weight).all() and late.seen.item() == 3
    opt.minimize((net.w**2).sum())
    new.minimize((late.w**2).sum())
    assert (late.w == net.w).all()
    status.assert_consumed()
    assert status._restoration not in _restoration._waiting


def test_an_attribute_set_later_and_elements_added_later_are_restored(tmp_path):
    path = train.Checkpoint(w=train.Variable(5.0), items=[train.Variable(6.0)]).save(tmp_path / "ckpt")
    items = []
    new = train.Checkpoint(items=items)
    status = new.restore(path)
    new.w = train.Variable(0.0)
    assert new.w.item() == 5
    items.append(train.Variable(0.0))
    status.assert_consumed()
    assert items[0].item() == 6


def test_what_is_replaced_after_it_was_restored_keeps_its_new_value(tmp_path):
    layer = ut.nn.Linear(1, 1)
    path = train.Checkpoint(w=train.Variable(5.0), layer=layer, gone=train.Variable(1.0)).save(tmp_path / "ckpt")
    new = train.Checkpoint(w=train.Variable(0.0), layer=ut.nn.Linear(1, 1))
    status = new.restore(path).expect_partial()
    new.w = train.Variable(7.0)
    new.layer.weight = ut.nn.Parameter(ut.ones(1, 1) * 7)
    new.note = "not a variable"
    assert new.w.item() == 7 and new.layer.weight.item() == 7 and new.layer.bias.item() == layer.bias.item()
    assert status._restoration.unused() == ["gone/.ATTRIBUTES/VARIABLE_VALUE"]


def test_modules_are_watched_only_while_values_wait(tmp_path):
    path = train.Checkpoint(a=train.Variable(1.0), gone=train.Variable(1.0)).save(tmp_path / "ckpt")
    new = train.Checkpoint(a=train.Variable(0.0))
    new.restore(path).expect_partial()
    assert _restoration._handles
    del new
    gc.collect()
    ut.nn.Linear(1, 1)  # the next registration finds nothing that waits
    assert not _restoration._waiting and not _restoration._handles


def test_a_slot_made_before_its_variable_is_tracked_is_restored_with_it(tmp_path):
    w = train.Variable(1.0)
    opt = stepped(w)
    path = train.Checkpoint(w=w, opt=opt).save(tmp_path / "ckpt")
    other = train.Variable(9.0)
    new = stepped(other, 1)
    ckpt = train.Checkpoint(opt=new)
    status = ckpt.restore(path)
    assert new._get_non_slot_variable("beta1_power").item() == opt._get_non_slot_variable("beta1_power").item()
    ckpt.w = other
    status.assert_consumed()
    assert new.get_slot(other, "m").item() == opt.get_slot(w, "m").item() and other.item() == w.item()


def test_the_save_counter_continues(tmp_path):
    ckpt = train.Checkpoint(w=train.Variable(1.0))
    assert [ckpt.save(tmp_path / "c").rpartition("-")[2] for _ in range(3)] == ["1", "2", "3"] and ckpt.save_counter.item() == 3
    new = train.Checkpoint(w=train.Variable(0.0))
    new.restore(train.latest_checkpoint(tmp_path)).assert_consumed()
    assert new.save(tmp_path / "c").endswith("c-4")
    with pytest.raises(ValueError, match="doesn't exist"):
        new.save(tmp_path / "missing" / "c")
    assert new.save_counter.item() == 4  # the failed save does not count


def test_assertions_name_what_does_not_match(tmp_path):
    path = train.Checkpoint(a=train.Variable(1.0), gone=train.Variable(2.0)).save(tmp_path / "ckpt")
    status = train.Checkpoint(a=train.Variable(0.0)).restore(path)
    assert status.expect_partial() is status
    status.assert_existing_objects_matched()
    with pytest.raises(AssertionError, match="Unresolved object in checkpoint .*: gone/"):
        status.assert_consumed()
    kept = train.Checkpoint(a=train.Variable(0.0), added=train.Variable(3.0))
    with pytest.raises(AssertionError, match="Object not assigned a value from checkpoint .*: added"):
        kept.restore(path).assert_existing_objects_matched()
    for check in ("assert_consumed", "assert_existing_objects_matched"):
        with pytest.raises(AssertionError, match="No checkpoint specified"):
            getattr(kept.restore(train.latest_checkpoint(tmp_path / "nowhere")), check)()


def test_values_that_are_never_used_are_logged_unless_that_is_expected(tmp_path, caplog):
    path = train.Checkpoint(a=train.Variable(1.0), gone=train.Variable(2.0)).save(tmp_path / "ckpt")
    with caplog.at_level(logging.WARNING, "undertow.train"):
        train.Checkpoint(a=train.Variable(0.0)).restore(path).expect_partial()
        gc.collect()
        assert not caplog.records
        train.Checkpoint(a=train.Variable(0.0)).restore(path)
        gc.collect()
    assert "1 values in the checkpoint were never used, such as gone/" in caplog.text


def test_what_does_not_fit_raises_before_anything_changes(tmp_path):
    path = train.Checkpoint(a=train.Variable(1.0), b=train.Variable([1.0])).save(tmp_path / "ckpt")
    a, b = train.Variable(5.0), train.Variable([5.0, 5.0])
    with pytest.raises(ValueError, match="the saved value has shape \\(1,\\)"):
        train.Checkpoint(a=a, b=b).restore(path)
    assert a.item() == 5
    with pytest.raises(ValueError, match="one object is at the places of two"):
        train.Checkpoint(a=a, b=a).restore(path)
    with pytest.raises(ValueError, match="is no variable|is a variable"):
        train.Checkpoint(a=[a]).restore(path)
    with pytest.raises(ValueError, match="expecting x to be a trackable object .*got int: 3"):
        train.Checkpoint(x=3)
    with pytest.raises(ValueError, match="element '0' to be a trackable object"):
        train.Checkpoint(x=[object()]).save(tmp_path / "ckpt")
    saved = train.Saver([train.Variable(1.0, name="w")]).save(tmp_path / "by_name")
    with pytest.raises(ValueError, match="was not written by train.Checkpoint"):
        train.Checkpoint(a=a).restore(saved)


@pytest.mark.parametrize(
    "graph",
    [
        {"kind": "objects", "nodes": [{"children": {"a": 7}}], "slots": []},
        {"kind": "objects", "nodes": [{"children": {"a": -1}}], "slots": []},
        {"kind": "objects", "nodes": [], "slots": []},
        {"kind": "objects", "nodes": [3], "slots": []},
        {"kind": "objects", "nodes": [{"children": {}}], "slots": [[0, 9, "m", "k"]]},
        {"kind": "objects", "nodes": [{"children": {}}], "slots": [[0]]},
    ],
)
def test_a_corrupt_graph_raises(graph, tmp_path):
    text = json.dumps({"__metadata__": {"undertow.train": json.dumps(graph)}}).encode()
    (tmp_path / "c.safetensors").write_bytes(struct.pack("<Q", len(text)) + text)
    with pytest.raises(ValueError, match="graph of objects is corrupt"):
        train.Checkpoint(a=train.Variable(1.0)).read(tmp_path / "c")


def test_an_optimizer_that_waits_for_a_checkpoint_cannot_be_copied_before_it_has_its_state(tmp_path):
    w = train.Variable(1.0)
    path = train.Checkpoint(w=w, opt=stepped(w)).save(tmp_path / "ckpt")
    new = train.AdamOptimizer(0.1)
    train.Checkpoint(w=w, opt=new).restore(path)
    with pytest.raises(TypeError, match="waits for values of .*copy it after its first step"):
        pickle.dumps(new)
    new.minimize(w * w)
    assert pickle.loads(pickle.dumps(new)).get_slot_names() == ["m", "v"]


# CheckpointManager.


def test_a_manager_keeps_the_newest_and_takes_over_a_folder(tmp_path):
    w = train.Variable(0.0)
    folder = tmp_path / "run"
    manager = train.CheckpointManager(train.Checkpoint(w=w), folder, max_to_keep=2)
    assert manager.latest_checkpoint is None and manager.restore_or_initialize() is None and manager.directory == str(folder)
    for value in (1.0, 2.0, 3.0):
        w.assign(value)
        manager.save()
    assert manager.checkpoints == [str(folder / "ckpt-2"), str(folder / "ckpt-3")] and manager.latest_checkpoint == str(folder / "ckpt-3")
    w.assign(0.0)
    again = train.CheckpointManager(train.Checkpoint(w=w), folder, max_to_keep=2, checkpoint_name="ckpt")
    assert again.restore_or_initialize() == str(folder / "ckpt-3") and w.item() == 3 and again.checkpoints == manager.checkpoints
    again.save()
    again.save(checkpoint_number=100)
    assert sorted(p.name for p in folder.iterdir()) == ["checkpoint", "ckpt-100.safetensors", "ckpt-4.safetensors"]


def test_a_manager_saves_at_intervals_and_keeps_one_every_n_hours(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(_checkpoint_state.time, "time", lambda: now[0])
    step = train.Variable(0, trainable=False)
    started = []
    manager = train.CheckpointManager(
        train.Checkpoint(step=step), tmp_path, 1, 2.0, step_counter=step, checkpoint_interval=10, init_fn=lambda: started.append(1)
    )
    manager.restore_or_initialize()
    assert started == [1]
    saved = []
    for _ in range(5):
        for _ in range(2):
            saved.append(manager.save() is not None)
            step.assign_add(5)
        now[0] += 3600.0
    assert saved == [True, False] * 5 and manager.save(check_interval=False) is not None
    assert sorted(p.name for p in tmp_path.iterdir()) == ["checkpoint", "ckpt-3.safetensors", "ckpt-5.safetensors", "ckpt-6.safetensors"]
    with pytest.raises(ValueError, match="positive integer or None"):
        train.CheckpointManager(train.Checkpoint(), tmp_path, 0)
    with pytest.raises(ValueError, match="step_counter"):
        train.CheckpointManager(train.Checkpoint(), tmp_path, 1, checkpoint_interval=1)
