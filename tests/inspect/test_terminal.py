"""Stepping in the terminal, with textual's test driver."""

from __future__ import annotations

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import undertow as ut
from undertow.inspect import Stopped
from undertow.inspect._control import CommandError
from undertow.inspect._debug import Session

pytest.importorskip("textual", reason="the terminal interface needs textual")

from textual.widgets import DataTable, Static

from undertow.inspect._terminal import BackgroundPass, Stepper, parse


def driven(work, drive) -> object:
    """Run a pass with the interface; `drive(app, pilot, until)` presses keys."""
    session = Session()
    app = Stepper(session)
    session.controller.is_abandoned = app.left.is_set

    async def go():
        async with app.run_test(size=(140, 40)) as pilot:

            async def until(condition):
                for _ in range(3000):
                    await pilot.pause(0.02)
                    if condition(session.controller.state()):
                        app.look()
                        return
                raise AssertionError("the state was not reached")

            await until(lambda state: state["status"] == "paused")
            await drive(app, pilot, until)
            app.left.set()

    running = BackgroundPass(session, work)
    try:
        with ThreadPoolExecutor(1) as pool:  # the main thread may have a running loop: Playwright's, in the browser tests
            pool.submit(lambda: asyncio.run(go())).result()
    finally:
        app.left.set()
    return running.result()


def at(session, name):
    return lambda state: state["status"] == "paused" and session.name(state["node"]) == name


def test_keys_step_zero_a_gradient_and_continue():
    x = ut.tensor([1.0, 2.0], requires_grad=True)

    async def drive(app, pilot, until):
        await pilot.press("s")
        await until(at(app._session, "ExpBackward0"))
        await pilot.press("z")
        await until(lambda state: state["gradients"][0]["changed"])
        assert "ExpBackward0" in str(app.query_one("#details", Static).content)
        assert app.query_one(DataTable).row_count == 2
        await pilot.press("c")
        await until(lambda state: state["status"] == "finished")

    r = driven(lambda: x.exp().sum().backward(), drive)
    assert x.grad.tolist() == [0, 0] and r.order() == ["SumBackward0", "ExpBackward0", "AccumulateGrad"]


def test_a_typed_breakpoint_stops_at_its_node():
    x = ut.ones(2, requires_grad=True)

    async def drive(app, pilot, until):
        app.send(parse("break name SinBackward0"))
        await pilot.press("c")
        await until(at(app._session, "SinBackward0"))
        app.send({"command": "fly"})
        assert "no command" in str(app.query_one("#message", Static).content)

    driven(lambda: x.sin().exp().sum().backward(), drive)
    assert x.grad is not None  # leaving lets the pass finish


def test_the_screen_lists_every_node_that_ran_and_explains_the_next():
    model = ut.nn.Sequential(ut.nn.Linear(2, 2), ut.nn.Tanh())

    async def drive(app, pilot, until):
        app.send(parse("break name TanhBackward0"))
        await pilot.press("c")
        await until(at(app._session, "TanhBackward0"))
        details = str(app.query_one("#details", Static).content)
        for part in ("paused at breakpoint 1", "module: 1", "d self = ", "norm 2.449", "model(ut.ones(3, 2)).sum()"):
            assert part in details, part
        app.send({"command": "unbreak", "id": 1})
        await pilot.press("c")
        await until(lambda state: state["status"] == "finished")
        rows = [app.query_one(DataTable).get_row_at(i)[1] for i in range(6)]
        assert rows == ["SumBackward0", "TanhBackward0", "AddmmBackward0", "0.bias.grad", "TBackward0", "0.weight.grad"]

    driven(lambda: model(ut.ones(3, 2)).sum().backward(), drive)


def test_stopping_raises():
    x = ut.ones(2, requires_grad=True)

    async def drive(app, pilot, until):
        await pilot.press("x")
        await until(lambda state: state["status"] == "stopped")

    with pytest.raises(Stopped):
        driven(lambda: x.exp().sum().backward(), drive)


@pytest.mark.parametrize("line", ["", "fly", "break colour red", "break norm much", "set x zero", "to nowhere"])
def test_a_wrong_command_line_says_what_is_possible(line):
    with pytest.raises(CommandError):
        parse(line)


def test_without_textual_the_error_says_what_to_install(monkeypatch):
    for name in [m for m in sys.modules if m == "textual" or m.startswith("textual.")]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "textual.app", None)
    monkeypatch.delitem(sys.modules, "undertow.inspect._terminal")
    with pytest.raises(ImportError, match=r"undertow\[inspect\]"):
        ut.inspect.debug(ut.ones(1, requires_grad=True).exp(), ui="terminal")


def test_an_unknown_interface_is_an_error():
    with pytest.raises(ValueError, match='"browser" or "terminal"'):
        ut.inspect.debug(ut.ones(1, requires_grad=True).exp(), ui="paper")
