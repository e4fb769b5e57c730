"""undertow.profiler: profiles with a schedule over steps."""

from __future__ import annotations

import json

import pytest

import undertow as ut


def leaf(*shape: int) -> ut.Tensor:
    return ut.ones(*shape, requires_grad=True)


def test_a_schedule_returns_an_action_for_each_step():
    plan = ut.profiler.schedule(wait=2, warmup=1, active=1, repeat=2, skip_first=1)
    short = {"NONE": ".", "WARMUP": "w", "RECORD": "r", "RECORD_AND_SAVE": "S"}
    assert "".join(short[plan(k).name] for k in range(12)) == "...wS..wS..."
    first = ut.profiler.schedule(wait=3, warmup=0, active=1, skip_first=2, skip_first_wait=1)
    assert "".join(short[first(k).name] for k in range(12)) == "..S...S...S."
    with pytest.raises(AssertionError):
        ut.profiler.schedule(wait=0, warmup=0, active=0)


def test_a_scheduled_profile_hands_over_each_cycle():
    cycles = []

    def ready(prof):
        cycles.append([e.name for e in prof.events() if e.is_user_annotation])

    plan = ut.profiler.schedule(wait=1, warmup=1, active=2, repeat=2)
    with ut.profiler.profile(schedule=plan, on_trace_ready=ready) as prof:
        for _ in range(10):
            ut.ones(2).exp()
            prof.step()
    assert cycles == [["ProfilerStep#2", "ProfilerStep#3"], ["ProfilerStep#6", "ProfilerStep#7"]]
    assert not ut._C._profiler_enabled()


def test_without_a_schedule_the_whole_context_is_profiled(tmp_path):
    handler = ut.profiler.tensorboard_trace_handler(str(tmp_path / "logs"), "me")
    with ut.profiler.profile(activities=[ut.profiler.ProfilerActivity.CPU], record_shapes=True, on_trace_ready=handler) as prof:
        with ut.profiler.record_function("work"):
            leaf(3).exp().sum().backward()
    assert "ExpBackward0" in prof.key_averages().table(sort_by="cpu_time_total")
    (written,) = (tmp_path / "logs").iterdir()
    assert written.name.startswith("me.")
    assert written.name.endswith(".pt.trace.json")
    assert json.loads(written.read_text())["traceEvents"]


def test_start_and_stop_without_a_context():
    prof = ut.profiler.profile()
    with pytest.raises(AssertionError):
        prof.events()
    prof.start()
    ut.ones(2).exp()
    prof.stop()
    assert [e.name for e in prof.events()][-1] == "aten::exp"


def test_activities_must_be_known_ones():
    with pytest.raises(AssertionError):
        ut.profiler.profile(activities=[])
    with pytest.raises(TypeError):
        ut.profiler.profile(activities=["cpu"])
    assert ut.profiler.supported_activities() == {ut.profiler.ProfilerActivity.CPU}
