"""Tensors through multiprocessing: by value, or by shared memory; and processes that fail."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import pytest

import undertow as ut
import undertow.multiprocessing as mp

sys.path.insert(0, str(Path(__file__).parent))
import process_functions as p

every_start = pytest.mark.parametrize("start", ["fork", "spawn"])


def run(start, target, *args):
    process = mp.get_context(start).Process(target=target, args=args)
    process.start()
    process.join(60)
    assert process.exitcode == 0


@every_start
def test_a_shared_tensor_is_the_same_memory_in_another_process(start):
    whole = ut.zeros(4, 3).share_memory_()
    run(start, p.fill, whole[1:3, ::2], 7.0)
    assert whole.tolist() == [[0, 0, 0], [7, 0, 7], [7, 0, 7], [0, 0, 0]]


def test_a_tensor_that_is_not_shared_is_copied():
    x = ut.zeros(2)
    run("spawn", p.fill, x, 7.0)
    assert x.tolist() == [0.0, 0.0]


@every_start
def test_tensors_go_through_queues_and_back(start):
    context = mp.get_context(start)
    there, back = context.Queue(), context.Queue()
    process = context.Process(target=p.echo, args=(there, back))
    process.start()
    shared = ut.zeros(2).share_memory_()
    for x in (ut.arange(6).reshape(2, 3).T, ut.ones(0), shared, ut.nn.Parameter(ut.ones(2)), ut.ones(2, dtype=ut.bfloat16), ut.ones(2, requires_grad=True)):
        there.put(x)
        y = back.get(timeout=60)
        assert (type(y), y.dtype, y.shape, y.stride(), y.tolist(), y.requires_grad) == (type(x), x.dtype, x.shape, x.stride(), x.tolist(), x.requires_grad)
        if x is shared:
            y.fill_(3)
            assert shared.tolist() == [3.0, 3.0]
            assert y.is_shared()
    there.put(None)
    process.join(60)
    assert process.exitcode == 0


def test_results_that_require_grad_cannot_be_sent():
    from multiprocessing.reduction import ForkingPickler

    with pytest.raises(RuntimeError, match="^Cowardly refusing to serialize non-leaf tensor which requires_grad"):
        ForkingPickler.dumps(ut.ones(1, requires_grad=True) * 2)


def test_a_shared_model_is_trained_by_several_processes():
    model = ut.nn.Linear(2, 1)
    for parameter in model.parameters():
        parameter.share_memory_()
    before = model.bias.item()
    run("spawn", p.train, model, 3)
    run("fork", p.train, model, 2)
    assert model.bias.item() == pytest.approx(before - 5 * 0.1, abs=1e-6)


def test_spawn_runs_a_function_with_each_index():
    x = ut.zeros(3).share_memory_()
    assert mp.spawn(p.fill_row, (x,), nprocs=3) is None
    assert x.tolist() == [1.0, 2.0, 3.0]
    context = mp.start_processes(p.fill_row, (x,), nprocs=1, join=False, start_method="fork")
    assert len(context.pids()) == 1
    while not context.join(1):
        pass


@every_start
def test_the_first_failure_is_raised_and_the_others_are_ended(start):
    with pytest.raises(mp.ProcessRaisedException, match="(?s)Process 1 terminated with the following error:.*ValueError: of process one") as caught:
        mp.start_processes(p.fail_second, nprocs=2, start_method=start)
    assert caught.value.error_index == 1
    with pytest.raises(mp.ProcessExitedException, match="process 0 terminated with exit code 3") as exited:
        mp.start_processes(p.exit_with, (3,), start_method=start)
    assert exited.value.exit_code == 3
    assert not mp.active_children()


def test_shared_memory_uses_one_descriptor_and_releases_it():
    def count():
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    before = count()
    x = ut.zeros(3).share_memory_()
    x.share_memory_()
    assert count() == before + 1
    del x
    assert count() == before
    with pytest.raises(RuntimeError, match="has no 100 bytes"):
        with open(os.devnull) as nothing:
            ut._C._storage_from_fd(nothing.fileno(), 100)


def test_strategies():
    assert mp.get_sharing_strategy() in mp.get_all_sharing_strategies()
    mp.set_sharing_strategy("file_descriptor")
    with pytest.raises(ValueError, match="file_system"):
        mp.set_sharing_strategy("file_system")
    with pytest.raises(ValueError, match="start_method must be 'spawn'"):
        mp.spawn(p.exit_with, (0,), start_method="fork")
