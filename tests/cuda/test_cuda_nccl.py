"""NCCL itself, by a group of one process: each check of tests/distributed/programs/gpu.py, then groups that are destroyed and aborted.

Several processes run the same checks on the emulated driver in tests/distributed/test_nccl.py.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

import undertow as ut
import undertow.distributed as dist

DISTRIBUTED = Path(__file__).resolve().parents[1] / "distributed"
sys.path.insert(0, str(DISTRIBUTED))
from ranks import names_of_checks

pytestmark = [pytest.mark.cuda, pytest.mark.skipif(ut.cuda.is_available() and not dist.is_nccl_available(), reason="NCCL is not installed")]


@pytest.fixture(scope="module")
def checks():
    spec = importlib.util.spec_from_file_location("gpu", DISTRIBUTED / "programs/gpu.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program


@pytest.fixture
def group():
    dist.init_process_group("nccl", rank=0, world_size=1)
    yield dist.group.WORLD
    if dist.is_initialized():
        dist.destroy_process_group()


@pytest.mark.parametrize("name", names_of_checks("gpu"))
def test_a_group_of_one_process(name, checks, group, cuda):
    getattr(checks, name)(dist, 0, 1)


def test_every_call_of_the_library_keeps_its_order_on_the_stream(group, cuda):
    large = ut.ones(1 << 22, device=cuda)
    for _ in range(50):
        large += 1
        dist.all_reduce(large)
        large -= 1
    work = [dist.all_reduce(large, async_op=True) for _ in range(50)]
    assert all(w.wait() for w in work) and large.sum().item() == 1 << 22
    whole, part = ut.zeros(1 << 22, device=cuda), large * 3
    dist.all_gather_into_tensor(whole, part)
    dist.reduce_scatter_tensor(large, whole)
    dist.all_to_all_single(part, large + 1)
    assert part.min().item() == part.max().item() == 4


def test_a_group_can_be_destroyed_while_its_collectives_run_and_made_again(group, cuda):
    x = ut.ones(1 << 24, device=cuda)
    for _ in range(20):
        dist.all_reduce(x, async_op=True)
    sub = dist.new_group([0])
    dist.broadcast(x, 0, group=sub)
    dist.destroy_process_group()
    assert x.sum().item() == 1 << 24
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        dist.all_reduce(x)
    dist.init_process_group("nccl", rank=0, world_size=1)
    dist.all_reduce(x)
    assert x.sum().item() == 1 << 24


def test_collectives_of_an_aborted_group_raise_and_the_gpu_stays_usable(group, cuda):
    x = ut.ones(1 << 20, device=cuda)
    work = dist.all_reduce(x, async_op=True)
    group.abort()
    with pytest.raises(dist.DistBackendError, match="the group was aborted"):
        work.wait()
    with pytest.raises(dist.DistBackendError, match="the group was aborted"):
        dist.all_reduce(x)
    assert (x * 0 + 2).sum().item() == 2 << 20
    dist.destroy_process_group()
    dist.init_process_group("nccl", rank=0, world_size=1)
    y = ut.ones(3, device=cuda)
    dist.all_reduce(y)
    assert y.tolist() == [1, 1, 1]


def test_the_version_is_that_of_the_library(cuda):
    assert ut.cuda.nccl.version() >= (2, 18)
