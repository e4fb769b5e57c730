"""Backward inside backward: nested on the same thread, nested deeper than the stack allows, and failing."""

from __future__ import annotations

import threading

import pytest

import undertow as ut
from undertow import autograd


def leaf(value: float) -> ut.Tensor:
    return ut.tensor(value, requires_grad=True)


def nested(depth: int, body) -> ut.Tensor:
    """A tensor whose backward runs backward, nested `depth` times, and calls body() in the innermost."""
    with ut.enable_grad():
        y = leaf(1.0) * 2

    def hook(grad):
        if depth == 0:
            body()
        else:
            nested(depth - 1, body).backward()

    y.register_hook(hook)
    return y


def test_backward_inside_a_hook():
    x, inner = leaf(3.0), leaf(5.0)
    y = x * 2
    z = inner * inner
    y.register_hook(lambda g: z.backward())
    y.backward()
    assert x.grad.item() == 2.0
    assert inner.grad.item() == 10.0


def test_grad_inside_a_hook_may_feed_the_outer_pass():
    x = leaf(3.0)
    y = x * 2

    def hook(g):
        with ut.enable_grad():
            t = g.detach().requires_grad_()
            return autograd.grad(t * t, t)[0]

    y.register_hook(hook)
    (y * 5).backward()
    assert x.grad.item() == 20.0


def test_the_inner_pass_may_accumulate_into_a_leaf_of_the_outer():
    x = leaf(3.0)
    y = x * 2

    def hook(g):
        with ut.enable_grad():
            (x * 100).backward()

    y.register_hook(hook)
    y.backward()
    assert x.grad.item() == 102.0


def test_the_inner_pass_may_run_over_nodes_of_the_outer():
    x = leaf(3.0)
    shared = x * 2
    top = shared * 3
    top.register_hook(lambda g: shared.backward(retain_graph=True))
    top.backward()
    assert x.grad.item() == 8.0


@pytest.mark.parametrize("depth", [1, 59, 60, 61, 120, 200])
def test_passes_nest_to_any_depth(depth):
    reached = []
    nested(depth, lambda: reached.append(ut._C._current_graph_task_id())).backward()
    assert len(reached) == 1
    assert reached[0] >= 0
    assert ut._C._current_graph_task_id() == -1


@pytest.mark.parametrize("depth", [1, 61, 130])
def test_an_exception_in_the_innermost_pass_is_raised_by_the_outermost(depth):
    def fail():
        raise KeyError("innermost")

    with pytest.raises(KeyError, match="innermost"):
        nested(depth, fail).backward()
    assert ut._C._current_graph_task_id() == -1
    x = leaf(1.0)
    (x * 2).backward()
    assert x.grad.item() == 2.0


def test_an_inner_failure_may_be_caught_inside():
    x, inner = leaf(1.0), leaf(1.0)
    y = x * 2
    caught = []

    z = inner * inner
    z.register_hook(lambda g: 1 / 0)

    def hook(g):
        try:
            z.backward()
        except ZeroDivisionError as e:
            caught.append(e)

    y.register_hook(hook)
    y.backward()
    assert len(caught) == 1
    assert x.grad.item() == 2.0
    assert inner.grad is None


def test_a_deep_pass_keeps_the_modes_of_its_caller():
    seen = []
    nested(130, lambda: seen.append(ut.is_grad_enabled())).backward()
    assert seen == [False]
    assert ut.is_grad_enabled()


def test_a_deep_pass_still_records_lines_if_its_caller_does():
    seen, before = [], ut._C._record_lines(True)
    try:
        nested(130, lambda: seen.append(ut._C._is_recording_lines())).backward()
    finally:
        ut._C._record_lines(before)
    assert seen == [True]


@pytest.mark.parametrize("depth", [1, 61, 130])
def test_nodes_made_in_a_deep_pass_come_after_those_before_it_and_before_those_after_it(depth):
    made = []

    def make():
        with ut.enable_grad():
            made.append((leaf(1.0) * 2).grad_fn._sequence_nr())

    outermost = nested(depth, make)
    outermost.backward()
    after = (leaf(1.0) * 2).grad_fn._sequence_nr()
    assert outermost.grad_fn._sequence_nr() < made[0] < after


def test_final_callbacks_belong_to_their_own_pass():
    engine = autograd.Variable._execution_engine
    x, inner = leaf(1.0), leaf(1.0)
    y, order = x * 2, []

    def inner_hook(g):
        engine.queue_callback(lambda: order.append("inner end"))

    z = inner * 2
    z.register_hook(inner_hook)

    def hook(g):
        engine.queue_callback(lambda: order.append("outer end"))
        z.backward()
        order.append("inner done")

    y.register_hook(hook)
    y.backward()
    assert order == ["inner end", "inner done", "outer end"]


def test_is_checkpoint_valid_inside_passes():
    engine = autograd.Variable._execution_engine
    x = leaf(1.0)
    seen = []
    y = x * 2
    y.register_hook(lambda g: seen.append(engine.is_checkpoint_valid()))
    y.backward(retain_graph=True)
    autograd.grad(y, x)
    assert seen == [True, False]


def test_many_threads_nest_at_once():
    failed = []

    def work():
        try:
            done = []
            nested(70, lambda: done.append(1)).backward()
            assert done == [1]
        except BaseException as e:  # noqa: BLE001
            failed.append(e)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert failed == []
