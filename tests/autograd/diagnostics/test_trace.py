"""The record of a pass: which events, in which order, with which counts."""

from __future__ import annotations

import pytest

import undertow as ut
from undertow import autograd

pytestmark = pytest.mark.skipif(not hasattr(ut._C, "_trace_start"), reason="traces are undertow's own")


def traced(fn) -> list[dict]:
    ut._C._trace_start()
    try:
        fn()
    finally:
        events = ut._C._trace_stop()
    return events


def leaf(value: float = 2.0) -> ut.Tensor:
    return ut.tensor(value, requires_grad=True)


def test_nothing_is_recorded_when_it_is_off():
    (leaf() * 2).backward()
    assert ut._C._trace_stop() == []


def test_a_pass_begins_and_ends():
    events = traced((leaf() * 2).backward)
    assert events[0]["event"] == "task_started"
    assert events[-1]["event"] == "task_finished"
    assert {e["task"] for e in events} == {events[0]["task"]}
    assert all(e["time_ns"] > 0 for e in events)
    assert [e["time_ns"] for e in events] == sorted(e["time_ns"] for e in events)


def test_nodes_start_and_finish_in_the_order_they_run():
    x = leaf()
    y = (x * 2).exp() + 1
    events = traced(y.backward)
    started = [e["name"] for e in events if e["event"] == "started"]
    finished = [e["name"] for e in events if e["event"] == "finished"]
    assert started == finished == ["AddBackward0", "ExpBackward0", "MulBackward0", "AccumulateGrad"]


def test_every_node_is_ready_before_it_starts_and_starts_before_it_finishes():
    x = leaf()
    y = x * 2
    z = y * y + y
    events = traced(z.backward)
    nodes = {e["node"] for e in events if e["event"] == "started"}
    assert len(nodes) == 4
    for node in nodes:
        own = [e["event"] for e in events if e["node"] == node and e["event"] in ("ready", "started", "finished")]
        assert own in (["ready", "started", "finished"], ["started", "finished"])


def test_dependencies_count_down_to_zero():
    x = leaf()
    y = x * 2
    z = y * 3 + y * 4 + y
    target = None
    events = traced(z.backward)
    for e in events:
        if e["event"] == "started" and e["name"] == "MulBackward0":
            target = e["node"]  # the last one is y's
    counts = [e["dependencies"] for e in events if e["event"] == "arrived" and e["node"] == target]
    assert counts == [2, 1, 0]
    ready = [i for i, e in enumerate(events) if e["event"] == "ready" and e["node"] == target]
    arrived = [i for i, e in enumerate(events) if e["event"] == "arrived" and e["node"] == target]
    assert len(ready) == 1
    assert ready[0] > arrived[-1]


def test_hooks_are_recorded_in_their_order():
    x = leaf()
    y = x * 2
    y.register_hook(lambda g: None)
    y.retain_grad()
    y.grad_fn.register_prehook(lambda g: None)
    y.grad_fn.register_hook(lambda gi, go: None)
    events = traced(y.backward)
    node = next(e["node"] for e in events if e["event"] == "started" and e["name"] == "MulBackward0")
    own = [e["event"] for e in events if e["node"] == node and e["event"] not in ("ready", "arrived", "task_started", "task_finished", "released")]
    assert own == ["started", "tensor_hook", "retains_grad_hook", "pre_hook", "post_hook", "finished"]


def test_accumulation_is_recorded():
    events = traced((leaf() * 2).backward)
    assert [e["name"] for e in events if e["event"] == "accumulated"] == ["AccumulateGrad"]


def test_release_is_recorded_unless_the_graph_is_kept():
    x = leaf()
    y = x * x
    assert not [e for e in traced(lambda: y.backward(retain_graph=True)) if e["event"] == "released"]
    assert [e["name"] for e in traced(y.backward) if e["event"] == "released"] == ["MulBackward0"]


def test_captures_are_recorded():
    x = leaf()
    y = x * 2
    events = traced(lambda: autograd.grad(y, x))
    assert [e["name"] for e in events if e["event"] == "captured"] == ["AccumulateGrad"]


def test_a_failure_is_recorded_with_its_message():
    y = leaf() * 2
    y.register_hook(lambda g: g.view(2, 2))

    def run():
        with pytest.raises(RuntimeError, match="shape"):
            y.backward()

    events = traced(run)
    assert events[-1]["event"] == "failed"
    assert "shape" in events[-1]["name"]


def test_a_python_exception_is_recorded_as_a_failure():
    y = leaf() * 2
    y.register_hook(lambda g: 1 / 0)

    def run():
        with pytest.raises(ZeroDivisionError):
            y.backward()

    assert traced(run)[-1]["event"] == "failed"


def test_nested_passes_have_their_own_task_and_depth():
    inner = leaf() * 3
    y = leaf() * 2
    y.register_hook(lambda g: inner.backward())
    events = traced(y.backward)
    depths = {e["task"]: e["depth"] for e in events if e["event"] == "task_started"}
    assert sorted(depths.values()) == [0, 1]


def test_lines_are_recorded_when_asked():
    ut._C._record_lines(True)
    try:
        y = leaf() * 2
    finally:
        ut._C._record_lines(False)
    events = traced(y.backward)
    lines = [e["line"] for e in events if e["event"] == "started" and e["name"] == "MulBackward0"]
    assert __file__.rpartition("/")[2] in lines[0]


def test_nested_recordings_each_get_the_events_since_their_start():
    def outer():
        (leaf() * 2).backward()
        inner = traced((leaf() * 3).backward)
        assert len([e for e in inner if e["event"] == "task_started"]) == 1

    assert len([e for e in traced(outer) if e["event"] == "task_started"]) == 2


def test_with_workers_the_events_of_a_node_keep_their_order():
    x = leaf()
    parts = [(x * float(i)).exp() * 0.5 for i in range(8)]
    total = parts[0]
    for p in parts[1:]:
        total = total + p
    ut.autograd.set_num_workers(3)
    try:
        events = traced(total.backward)
    finally:
        ut.autograd.set_num_workers(1)
    nodes = {e["node"] for e in events if e["event"] == "started"}
    assert len(nodes) == 8 * 3 + 7 + 1
    for node in nodes:
        own = [e["event"] for e in events if e["node"] == node and e["event"] in ("started", "finished")]
        assert own == ["started", "finished"]
