"""Recordings, live sessions and nan_birth that run at the same time: whatever the order and the threads, each sees its own, and nothing stays behind."""

from __future__ import annotations

import itertools
import threading

import pytest

import undertow as ut
from undertow import nn
from undertow.autograd import graph
from undertow.inspect import nan_birth, record, record_torch
from undertow.inspect._debug import Session

ORDERS = list(itertools.permutations(range(3)))


def run_pass(scale: float = 2.0) -> ut.Tensor:
    x = ut.ones(3, requires_grad=True)
    (x * scale).sum().backward()
    return x.grad


@pytest.fixture(autouse=True)
def nothing_stays_behind():
    engine = graph.Variable._execution_engine
    yield
    assert graph.Variable._execution_engine is engine and graph._pass_listeners == []
    assert not ut._C._is_recording_lines() and ut._C._trace_stop() == []
    with record() as r:
        nn.Linear(1, 1)(ut.ones(1)).sum().backward()
    assert r.passes == 1 and len(r.data["calls"]["module"]) == 1  # one call, though others were recorded before


@pytest.mark.parametrize("order", ORDERS)
def test_recordings_that_end_in_any_order_have_the_passes_of_their_own_time(order):
    recorders = [record(values=True) for _ in range(3)]
    found = []
    for recorder in recorders:
        found.append(recorder.__enter__())
        run_pass()
    for number in order:
        recorders[number].__exit__(None, None, None)
        run_pass()
    for number, r in enumerate(found):
        passes = 3 - number + order.index(number)
        assert r.passes == passes
        assert len(r.data["values"]["norm"]) == passes * 3 and r.order(passes - 1) == ["SumBackward0", "MulBackward0", "AccumulateGrad"]


@pytest.mark.parametrize("order", ORDERS)
def test_missing_gradients_are_explained_in_every_recording_that_runs(order):
    model = nn.Linear(2, 1)
    recorders = [record(model=model) for _ in range(3)]
    found = [recorder.__enter__() for recorder in recorders]
    for number in order[:2]:
        recorders[number].__exit__(None, None, None)
    run_pass()
    recorders[order[2]].__exit__(None, None, None)
    assert [n["parameter"] for n in found[order[2]].data["notes"]] == ["weight", "bias"]
    assert all(found[number].data["notes"] == [] for number in order[:2])


@pytest.mark.parametrize("order", ORDERS)
def test_modules_and_their_calls_are_right_in_every_recording(order):
    model = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    other = nn.Linear(2, 2)
    recorders = [record() for _ in range(3)]
    found = []
    for recorder in recorders:
        other(ut.ones(1, 2))  # numbers that only the earlier recordings have
        found.append(recorder.__enter__())
    model(ut.ones(1, 2)).sum().backward()
    for number in order:
        recorders[number].__exit__(None, None, None)
    for r in found:
        paths = {r.name(i): r.module(i) for i in r.ran()}
        assert paths["TanhBackward0"].endswith("1") and paths["AddmmBackward0"].endswith("0") and paths["SumBackward0"] is None


def test_a_recording_that_ends_inside_a_module_leaves_the_next_one_right():
    class Ends(nn.Module):
        def forward(self, x):
            inner.__exit__(None, None, None)
            return x * 2

    inner = record()
    inner.__enter__()
    Ends()(ut.ones(2, requires_grad=True))
    with record() as r:
        (ut.ones(2, requires_grad=True) * 3).sum().backward()
    assert all(module == -1 for module in r.data["nodes"]["module"])


def test_recordings_of_several_threads_start_and_end_while_others_run():
    rounds, failures = 30, []
    model = nn.Linear(2, 1)

    def work(seed: int) -> None:
        try:
            for i in range(rounds):
                recorder = record(values=(seed + i) % 2 == 0)
                r = recorder.__enter__()
                x = ut.ones(1, 2, requires_grad=True)
                model(x).sum().backward()
                assert x.grad is not None
                recorder.__exit__(None, None, None)
                mine = [i for i in range(r.passes) if r.order(i)[:1] == ["SumBackward0"]]  # others may still run
                assert mine
                if recorder._values:
                    started = sum(kind == 3 for kind in r.data["events"]["kind"])
                    assert 0 < len(r.data["values"]["norm"]) <= started
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def stepped(session: Session, edit) -> None:
    """Go through a pass of a session; `edit` is called before each node."""
    state = session.controller.state()
    while state["status"] in ("running", "paused"):
        if state["status"] == "paused":
            edit(session)
            session.controller.command({"command": "step"})
        state = session.controller.wait(session.controller.state()["number"], 0.05) if state["status"] == "running" else session.controller.state()


@pytest.mark.parametrize("first", [0, 1])
def test_two_sessions_of_two_threads_end_in_either_order(first):
    sessions = [Session(), Session()]
    grads: list = [None, None]

    def run(number: int) -> None:
        def work() -> None:
            grads[number] = run_pass(number + 2.0)

        sessions[number].run(work)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(2)]
    for thread, session in zip(threads, sessions, strict=True):
        thread.start()
        session.controller.wait(0, 60.0)
        assert session.controller.state()["status"] == "paused"
    for number in (first, 1 - first):
        stepped(sessions[number], lambda s: None)
        threads[number].join(60.0)
        assert not threads[number].is_alive() and grads[number].tolist() == [number + 2.0] * 3


@pytest.mark.parametrize("recording_first", [True, False])
def test_a_recording_beside_a_session_sees_the_changed_gradients(recording_first):
    recorder, session = record(values=True), Session()
    if recording_first:
        r = recorder.__enter__()

    def work() -> None:
        nonlocal r
        if not recording_first:
            r = recorder.__enter__()
        run_pass()

    r = r if recording_first else None
    thread = threading.Thread(target=lambda: session.run(work))
    thread.start()

    def fill(s: Session) -> None:
        if s.name(s.controller.state()["node"]) == "MulBackward0":
            s.controller.command({"command": "set", "slot": 0, "to": {"fill": 5.0}})

    stepped(session, fill)
    thread.join(60.0)
    recorder.__exit__(None, None, None)
    norms = {r.name(node): norm for node, norm in zip(r.data["values"]["node"], r.data["values"]["norm"], strict=True)}
    assert norms["MulBackward0"] == pytest.approx(5 * 3**0.5) and norms["AccumulateGrad"] == pytest.approx(10 * 3**0.5)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_recordings_of_pytorch_end_in_any_order(order):
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    before = torch.autograd.graph._engine_run_backward, torch.is_anomaly_enabled()
    recorders = [record_torch(), record_torch()]
    found = []

    def one_pass():
        (torch.ones(3, requires_grad=True) * 2).sum().backward()

    for recorder in recorders:
        found.append(recorder.__enter__())
        one_pass()
    for number in order:
        recorders[number].__exit__(None, None, None)
        one_pass()
    assert [r.passes for r in found] == [2 + order.index(0), 1 + order.index(1)]
    assert all(r.line(r.ran()[0]) is not None for r in found)
    assert (torch.autograd.graph._engine_run_backward, torch.is_anomaly_enabled()) == before


def test_a_profile_and_a_recording_that_overlap_have_their_own_events():
    profile, recorder = ut.autograd.profiler.profile(), record()
    profile.__enter__()
    r = recorder.__enter__()
    run_pass()
    profile.__exit__(None, None, None)
    run_pass()
    recorder.__exit__(None, None, None)
    assert r.passes == 2
    assert sum("MulBackward0" in e.name for e in profile.function_events) >= 1


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_nan_births_that_end_in_any_order_are_found_by_those_that_look(order):
    births: list[list] = [[], []]
    watchers = [nan_birth(action=births[i].append) for i in range(2)]
    zero = ut.zeros(1)
    watchers[0].__enter__()
    zero.log()
    watchers[1].__enter__()
    ut.ones(1) / zero
    watchers[order[0]].__exit__(None, None, None)
    assert ut._C._is_recording_lines()
    watchers[order[1]].__exit__(None, None, None)
    assert [[b.operation for b in found] for found in births] == [["log"], ["div"]]


def test_a_nan_birth_that_ends_leaves_the_one_around_it_looking():
    with nan_birth(action=lambda birth: None) as outer:
        with nan_birth(action=lambda birth: None) as inner:
            ut.ones(1) + 1
        ut.zeros(1).log()
    assert inner.found is None and outer.found.operation == "log"
