"""torch.distributed in a group of one process: programs for many processes run on one, with the same checks as in a larger group."""

from __future__ import annotations

import pytest

import undertow as ut
import undertow.distributed as dist
from undertow import nn
from undertow.nn.parallel import DistributedDataParallel


@pytest.fixture
def world():
    dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    yield dist.group.WORLD
    if dist.is_initialized():
        dist.destroy_process_group()


def test_rank_and_size_come_from_the_environment(monkeypatch):
    with pytest.raises(ValueError, match="environment variable RANK expected, but not set"):
        dist.init_process_group("gloo")
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")
    dist.init_process_group()
    assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (0, 1, "gloo")
    with pytest.raises(ValueError, match="twice"):
        dist.init_process_group()
    dist.destroy_process_group()
    assert not dist.is_initialized()


def test_a_group_of_one_says_nothing_about_the_job(world, monkeypatch):
    from undertow._ranks import rank_and_size

    assert rank_and_size() is None
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert rank_and_size() == (1, 2)


def test_a_backend_that_does_not_exist_raises_a_clear_error():
    with pytest.raises(RuntimeError, match="doesn't have UCC built in"):
        dist.init_process_group("ucc", rank=0, world_size=1)
    with pytest.raises(AssertionError, match="Unknown backend type nope"):
        dist.init_process_group("nope", rank=0, world_size=1)
    with pytest.raises(ValueError, match="rank 1 is out of range"):
        dist.init_process_group("gloo", rank=1, world_size=1, store=dist.HashStore())


@pytest.mark.parametrize("call", [dist.get_rank, dist.get_world_size, dist.barrier, lambda: dist.all_reduce(ut.ones(2)), lambda: DistributedDataParallel(nn.Linear(1, 1))])
def test_collectives_need_a_group(call):
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        call()


def test_collectives_of_one_piece(world):
    x, out = ut.arange(4.0), ut.zeros(4)
    assert dist.all_reduce(x) is None and x.tolist() == [0, 1, 2, 3]
    work = dist.all_reduce(x, op=dist.ReduceOp.AVG, async_op=True)
    assert work.wait() and work.is_completed() and work.result()[0] is x
    for move in (
        lambda v: dist.all_gather([out], v),
        lambda v: dist.all_gather_into_tensor(out, v),
        lambda v: dist.gather(v, [out], dst=0),
        lambda v: dist.scatter(out, [v], src=0),
        lambda v: dist.reduce_scatter(out, [v]),
        lambda v: dist.reduce_scatter_tensor(out, v),
        lambda v: dist.all_to_all([out], [v]),
        lambda v: dist.all_to_all_single(out, v),
    ):
        out.zero_()
        move(x)
        assert out.tolist() == x.tolist()
    found = [None]
    dist.all_gather_object(found, {"a": [1]})
    assert found == [{"a": [1]}]
    dist.broadcast(x, src=0)
    dist.barrier()


def test_bad_pieces_raise_as_with_gloo(world):
    x = ut.arange(4.0)
    for call, kind, words in (
        (lambda: dist.all_reduce(3), TypeError, "Expected parameter `tensor`"),
        (lambda: dist.all_gather([], x), RuntimeError, "expected length 1, got 0"),
        (lambda: dist.all_gather([ut.zeros(3)], x), RuntimeError, "invalid tensor size"),
        (lambda: dist.all_gather([ut.zeros(4, dtype=ut.int64)], x), RuntimeError, "invalid tensor type"),
        (lambda: dist.broadcast(x, src=1), RuntimeError, "invalid root rank: 1"),
        (lambda: dist.gather(x), ValueError, "gather_list"),
        (lambda: dist.send(x, 0), ValueError, "Invalid destination rank"),
        (lambda: dist.new_group([0, 1]), ValueError, "less or equal to the world size"),
    ):
        with pytest.raises(kind, match=words):
            call()


def test_groups_within_the_world(world):
    inner = dist.new_group([0])
    assert inner is not world and dist.get_rank(inner) == 0 and inner.size() == 1
    none = dist.new_group([])
    assert none == dist.GroupMember.NON_GROUP_MEMBER and dist.get_rank(none) == -1
    x = ut.ones(2)
    assert dist.all_reduce(x, group=none, async_op=True) is None
    dist.destroy_process_group(inner)
    with pytest.raises(ValueError, match="Invalid process group"):
        dist.get_rank(inner)


def test_a_parallel_module_is_the_module_with_a_prefix(world):
    plain = nn.Linear(2, 2)
    model = DistributedDataParallel(plain)
    assert model.module is plain and list(model.state_dict()) == ["module.weight", "module.bias"]
    with model.no_sync():
        model(ut.ones(1, 2)).sum().backward()
    model(ut.ones(1, 2)).sum().backward()
    assert plain.weight.grad.tolist() == [[2, 2], [2, 2]]
    with pytest.raises(RuntimeError, match="is not needed when a module doesn't have any parameter"):
        DistributedDataParallel(nn.ReLU())
    with pytest.raises(ValueError, match="device_ids and output_device"):
        DistributedDataParallel(plain, device_ids=[0])


def test_a_communication_hook_runs_in_a_group_of_one_as_in_larger_ones(world):
    seen = []

    def hook(state, bucket):
        seen.append((state, bucket.buffer().numel()))
        done = ut.futures.Future()
        done.set_result(bucket.buffer() * 2)
        return done

    model, x = DistributedDataParallel(nn.Linear(2, 1)), ut.ones(3, 2)
    model.register_comm_hook("state", hook)
    model(x).sum().backward()
    assert seen == [("state", 3)] and model.module.weight.grad.tolist() == [[6, 6]] and model.module.bias.grad.tolist() == [6]
    with model.no_sync():
        model(x).sum().backward()
    assert len(seen) == 1 and model.module.weight.grad.tolist() == [[9, 9]]
