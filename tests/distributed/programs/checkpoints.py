"""Checks of distributed checkpoints: divided and replicated tensors, optimizers, other numbers of ranks, crashes."""

import json
import os
import tempfile

import undertow as ut
from undertow import nn
from undertow.distributed import checkpoint as dcp
from undertow.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_state_dict,
)
from undertow.distributed.fsdp import fully_shard
from undertow.distributed.tensor import full_tensor


def shared_folder(dist):
    box = [tempfile.mkdtemp(prefix="undertow-test-") if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(box, src=0)
    return os.path.join(box[0], "checkpoint")


def network(seed):
    ut.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.Linear(5, 2))


def step(model, optimizer):
    optimizer.zero_grad()
    model(ut.arange(12.0).view(4, 3)).square().mean().backward()
    optimizer.step()


def wholes(model):
    return [full_tensor(p).detach().clone() for p in model.parameters()]


def equal(a, b):
    return all(ut.equal(x, y) for x, y in zip(a, b, strict=True))


def check_divided_models_and_optimizers_come_back(dist, rank, size):
    folder = shared_folder(dist)
    model = fully_shard(network(0))
    optimizer = ut.optim.AdamW(model.parameters(), lr=0.01)
    step(model, optimizer)
    weights, state = get_state_dict(model, optimizer)
    dcp.save({"model": weights, "optimizer": state, "epoch": 3}, checkpoint_id=folder)
    step(model, optimizer)
    expected = wholes(model)
    other = fully_shard(network(1))
    again = ut.optim.AdamW(other.parameters(), lr=0.5)
    weights, state = get_state_dict(other, again)
    content = {"model": weights, "optimizer": state, "epoch": 0}
    dcp.load(content, checkpoint_id=folder)
    assert content["epoch"] == 3
    set_state_dict(other, again, model_state_dict=content["model"], optim_state_dict=content["optimizer"])
    assert again.param_groups[0]["lr"] == 0.01 and again.param_groups[0]["betas"] == (0.9, 0.999)
    step(other, again)
    assert equal(wholes(other), expected)


def check_plain_state_dicts_of_divided_models_are_saved_whole(dist, rank, size):
    folder = shared_folder(dist)
    model = fully_shard(network(0))
    expected = wholes(model)
    dcp.save(model.state_dict(), checkpoint_id=folder)
    index = json.loads(open(os.path.join(folder, "model.safetensors.index.json")).read())  # noqa: SIM115
    assert set(index["weight_map"]) == set(network(0).state_dict()) and len(set(index["weight_map"].values())) == min(size, 4)
    plain = network(1)  # one process, not divided
    state = plain.state_dict()
    dcp.load(state, checkpoint_id=folder)
    assert equal([p.detach() for p in plain.parameters()], expected)


def check_groups_of_other_sizes_load_what_all_ranks_saved(dist, rank, size):
    folder = shared_folder(dist)
    model = fully_shard(network(0))
    expected = wholes(model)
    dcp.save({"model": model.state_dict()}, checkpoint_id=folder)
    mesh = dist.DeviceMesh("cpu", list(range(size - 1)))
    if rank < size - 1:
        smaller = fully_shard(network(rank + 1), mesh=mesh)
        state = {"model": smaller.state_dict()}
        dcp.load(state, checkpoint_id=folder)
        smaller.load_state_dict(state["model"])
        assert equal(wholes(smaller), expected)


def check_whole_state_dicts_are_gathered_and_distributed(dist, rank, size):
    model = fully_shard(network(0))
    whole = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))
    assert whole["0.weight"].shape == (5, 3) and ut.equal(whole["0.weight"], network(0)[0].weight)
    other = fully_shard(network(1))
    options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    set_model_state_dict(other, whole if rank == 0 else {}, options=options)
    assert equal(wholes(other), wholes(model))


def check_a_background_save_keeps_the_values_of_its_start(dist, rank, size):
    folder = shared_folder(dist)
    model = network(0)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    done = dcp.async_save({"model": model.state_dict()}, checkpoint_id=folder)
    with ut.no_grad():
        for p in model.parameters():
            p.zero_()
    done.wait()
    dist.barrier()
    state = {"model": network(1).state_dict()}
    dcp.load(state, checkpoint_id=folder)
    assert all(ut.equal(state["model"][name], value) for name, value in before.items())


def check_a_failed_save_leaves_the_previous_checkpoint(dist, rank, size):
    from undertow.distributed.checkpoint import _files, _save

    folder = shared_folder(dist)
    dcp.save({"x": ut.full((4,), 1.0), "n": 1}, checkpoint_id=folder)
    files = sorted(os.listdir(folder))
    real = _files.write_shard

    def disk_full(folder, name, tensors):
        if rank == 1:
            raise OSError(28, "No space left on device")
        real(folder, name, tensors)

    _save.write_shard = disk_full
    try:
        dcp.save({"x": ut.full((4,), 2.0), "n": 2}, checkpoint_id=folder)
    except RuntimeError as error:
        assert "the previous one is unchanged; rank 1:" in str(error) and "No space left" in str(error)
    else:
        raise AssertionError("no error")
    finally:
        _save.write_shard = real
    state = {"x": ut.zeros(4), "n": 0}
    dcp.load(state, checkpoint_id=folder)
    assert state["x"].tolist() == [1.0] * 4 and state["n"] == 1
    dist.barrier()
    dcp.save({"x": ut.full((4,), 3.0), "n": 3}, checkpoint_id=folder)
    assert len(os.listdir(folder)) == len(files)  # what the failed save left is gone
    dcp.load(state, checkpoint_id=folder)
    assert state["x"].tolist() == [3.0] * 4 and state["n"] == 3


def check_what_does_not_fit_is_named(dist, rank, size):
    folder = shared_folder(dist)
    dcp.save({"x": ut.zeros(4)}, checkpoint_id=folder)
    for state, words in (
        ({"y": ut.zeros(4)}, "Missing key in checkpoint state_dict: y"),
        ({"x": ut.zeros(5)}, "Size mismatch between saved (4,) and current: (5,) for x"),
    ):
        try:
            dcp.load(state, checkpoint_id=folder)
        except (RuntimeError, ValueError) as error:
            assert words in str(error)
        else:
            raise AssertionError("no error")
    try:
        dcp.save({"x": object()}, checkpoint_id=folder)
    except TypeError as error:
        assert "x is a object" in str(error)
    else:
        raise AssertionError("no error")
