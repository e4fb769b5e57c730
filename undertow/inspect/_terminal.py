"""Stepping through a pass in the terminal: a full-screen text interface on textual, over the same controller as the page."""

from __future__ import annotations

import shlex
import threading

import undertow
from undertow.inspect._control import CommandError
from undertow.inspect._formulas import formula_of
from undertow.inspect._tables import READY, STARTED, short_path

try:
    from textual.app import App, ComposeResult
    from textual.containers import Horizontal, VerticalScroll
    from textual.widgets import DataTable, Footer, Header, Input, Static
except ImportError:
    raise ImportError('debug(ui="terminal") needs textual, which is not installed: pip install "undertow[inspect]"') from None

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from undertow.inspect._debug import Session
    from undertow.inspect._recording import Recording

HELP = """break name|line|module|node|norm VALUE   break nan   unbreak ID   to NODE
set SLOT zero|original   set SLOT scale|fill|remove_nan NUMBER   step   step_over   continue   pause   stop
key q leaves: the pass then runs to its end"""
REASONS = {
    "start": "paused before the first node",
    "step": "paused after a step",
    "module": "paused at another module",
    "node": "paused at the chosen node",
    "pause": "paused as asked",
    "breakpoint": "paused at breakpoint",
}
MOST_ROWS = 1000  # of the nodes that ran between two pauses
AROUND = 3  # lines of source before and after


def parse(line: str) -> dict[str, Any]:
    """Return the request of a command line.

    >>> parse("break norm 10")
    {'command': 'break', 'on': 'norm', 'value': 10.0}
    >>> parse("set 0 scale 0.5")
    {'command': 'set', 'slot': 0, 'to': {'scale': 0.5}}
    """
    words = shlex.split(line)
    try:
        match words:
            case ["break", "nan"]:
                return {"command": "break", "on": "nan", "value": None}
            case ["break", ("name" | "line" | "module") as on, value]:
                return {"command": "break", "on": on, "value": value}
            case ["break", "node", value]:
                return {"command": "break", "on": "node", "value": int(value)}
            case ["break", "norm", value]:
                return {"command": "break", "on": "norm", "value": float(value)}
            case ["unbreak", number]:
                return {"command": "unbreak", "id": int(number)}
            case ["to", node]:
                return {"command": "run_to", "node": int(node)}
            case ["set", slot, ("zero" | "original") as to]:
                return {"command": "set", "slot": int(slot), "to": to}
            case ["set", slot, ("scale" | "fill" | "remove_nan") as how, number]:
                return {"command": "set", "slot": int(slot), "to": {how: float(number)}}
            case ["help"]:
                raise CommandError(HELP)
            case [("step" | "step_over" | "continue" | "pause" | "stop") as command]:
                return {"command": command}
    except ValueError as error:
        raise CommandError(str(error)) from None
    raise CommandError(f"not a command: {line.strip() or '(nothing)'}\n{HELP}")


class Stepper(App[None]):
    """The interface: nodes that ran, the node that is next with its gradients, and a line for commands."""

    CSS = "DataTable{width:2fr} #side{width:3fr;padding:0 2} #message{height:auto;color:$warning} Input{dock:bottom;margin-bottom:1}"
    BINDINGS = [
        ("s", "do('step')", "step"),
        ("o", "do('step_over')", "over module"),
        ("c", "do('continue')", "continue"),
        ("p", "do('pause')", "pause"),
        ("z", "zero", "zero"),
        ("x", "do('stop')", "stop"),
        ("colon", "type", "command"),
        ("q", "leave", "leave"),
    ]
    TITLE = "undertow: a backward pass"
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._seen = -1
        self._looked_at = 0  # how many have been looked at
        self._queue: dict[tuple[int, int], None] = {}  # pass and node, in the order in which they became ready
        self.left = threading.Event()  # the person has gone: the pass should run to its end

    def compose(self) -> ComposeResult:
        """Build the screen."""
        yield Header()
        with Horizontal():
            yield DataTable(id="order", cursor_type="row")
            yield VerticalScroll(Static(id="details"), id="side")
        yield Static(id="message")
        yield Input(placeholder="a command; : to type one, help for a list")
        yield Footer()

    def on_mount(self) -> None:
        """Start to look at the controller."""
        self.query_one(DataTable).add_columns("#", "node", "module", "norm")
        self.query_one(DataTable).focus()
        self.set_interval(0.05, self.look)

    def look(self) -> None:
        """Show the state, if it has changed."""
        if not self.query("#details"):  # the screen is being built, or gone
            return
        state = self._session.controller.state()
        if state["number"] == self._seen:
            return
        self._seen = state["number"]
        self._add_rows(state)
        if state["status"] not in ("paused", "running"):
            self.query_one("#message", Static).update(f"{state['status']}{': ' + state['error'] if state['error'] else ''}; q leaves")
        self.query_one("#details", Static).update(self.details(state))

    def _add_rows(self, state: dict[str, Any]) -> None:
        """Add the nodes that have run since the last pause, and the one that is next."""
        events, norms = self._session.news(self._looked_at)
        ran: dict[tuple[int, int], list[float | None]] = {}
        for i, (kind, at, node) in enumerate(events, self._looked_at):
            if kind == READY:
                self._queue[at, node] = None
            elif kind == STARTED:
                self._queue.pop((at, node), None)
                ran[at, node] = norms.get(i, [])
        self._looked_at += len(events)
        shown = list(ran.items())[-MOST_ROWS:]
        if state["status"] == "paused":
            shown.append(((state["pass"], state["node"]), [g["norm"] for g in state["gradients"]]))
        table = self.query_one(DataTable)
        for (at, node), sizes in shown:
            key = f"{at}.{node}"
            if key not in table.rows:
                norm = " ".join(f"{n:.3g}" for n in sizes if n is not None)
                table.add_row(str(node), self._session.title(node), self._session.module(node) or "", norm, key=key)
        table.move_cursor(row=table.row_count - 1)

    def details(self, state: dict[str, Any]) -> str:
        """Return the text about the node where the pass is paused."""
        from rich.markup import escape

        session, node = self._session, state["node"]
        if state["status"] != "paused":
            return f"{state['status']}: {self.query_one(DataTable).row_count} nodes ran"
        reason = REASONS[state["reason"]] + (f" {state['breakpoint']}" if state["breakpoint"] else "")
        lines = [f"[b]{escape(session.title(node))}[/b] is about to run: node {node} of pass {state['pass']}, {reason}"]
        parameter = session.parameter(node)
        lines += [escape(f"adds to the gradient of {parameter}")] if parameter else []
        lines += [f"module: {escape(module)}"] if (module := session.module(node)) else []
        for g in state["gradients"]:
            figures = ", ".join(f"{key} {g[key]:.4g}" for key in ("norm", "min", "max", "mean") if g[key] is not None)
            counts = ", ".join(f"{g[key]} {word}" for key, word in (("zeros", "zeros"), ("nan", "NaN"), ("inf", "Inf")) if g[key])
            changed = " (changed)" if g["changed"] else ""
            lines += [
                "",
                f"gradient {g['slot']}: {g['dtype']} {escape(str(g['shape']))}{changed}",
                f"  {figures}",
                *([f"  {counts}"] if counts else []),
            ]
        waiting = [session.title(n) for at, n in reversed(self._queue) if (at, n) != (state["pass"], node)]
        lines += ["", f"also ready: {escape(', '.join(waiting[:8]))}{' ...' if len(waiting) > 8 else ''}"] if waiting else []
        points = [f"breakpoint {b['id']}: {b['on']} {escape(str(b['value'] or ''))}" for b in state["breakpoints"]]
        lines += ["", *points] if points else []
        formula = formula_of(session.name(node))
        if formula is not None:
            lines += ["", escape(formula[1]), *(escape(f"  d {name} = {text}") for name, text in formula[3])]
        lines += self._source(session.line(node))
        return "\n".join(lines)

    def _source(self, line: str | None) -> list[str]:
        """Return the line that made a node, among its neighbors."""
        import linecache
        from textwrap import dedent

        from rich.markup import escape

        path, _, number = (line or "").rpartition(":")
        if not path or not number.isdecimal():
            return []
        text = linecache.getlines(path)
        first = max(int(number) - 1 - AROUND, 0)
        part = dedent("".join(text[first : int(number) + AROUND])).splitlines()
        rows = [f"{'>' if n == int(number) else ' '} {n:4} {escape(source)}" for n, source in enumerate(part, first + 1)]
        return ["", escape(f"{short_path(path)}:{number}"), *(f"[b]{row}[/b]" if row.startswith(">") else row for row in rows)]

    def send(self, request: dict[str, Any]) -> None:
        """Carry out a command, or show why it cannot be."""
        try:
            self._session.controller.command(request)
            text = ""
        except CommandError as error:
            text = str(error)
        self.query_one("#message", Static).update(text)
        self.look()

    def action_do(self, command: str) -> None:
        """Carry out the command of a key."""
        self.send({"command": command})

    def action_zero(self) -> None:
        """Set all gradients that are about to enter the node to zero."""
        for g in self._session.controller.state()["gradients"]:
            self.send({"command": "set", "slot": g["slot"], "to": "zero"})

    def action_type(self) -> None:
        """Go to the line for commands."""
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Carry out the command that was typed."""
        try:
            self.send(parse(event.value))
        except CommandError as error:
            self.query_one("#message", Static).update(str(error))
        event.input.value = ""
        self.query_one(DataTable).focus()

    def action_leave(self) -> None:
        """Leave; the pass runs to its end."""
        self.left.set()
        self.exit()


class BackgroundPass:
    """Runs a session in a thread of its own, because the interface needs the main thread."""

    def __init__(self, session: Session, work: Callable[[], Any]) -> None:
        self._session, self._work = session, work
        self._recording: Recording | None = None
        self._error: BaseException | None = None
        self._grad = undertow.is_grad_enabled()
        self._thread = threading.Thread(target=self._run, name="undertow.inspect pass")
        self._thread.start()

    def _run(self) -> None:
        try:
            with undertow.set_grad_enabled(self._grad):
                self._recording = self._session.run(self._work)
        except BaseException as error:
            self._error = error

    def result(self) -> Recording:
        """Wait for the end; return the recording, or raise what the pass raised."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        if self._recording is None:
            raise RuntimeError("the pass ended without a recording")
        return self._recording


def run_in_terminal(session: Session, work: Callable[[], Any]) -> Recording:
    """Run `work` under the control of the terminal; return its recording."""
    app = Stepper(session)
    session.controller.is_abandoned = app.left.is_set
    running = BackgroundPass(session, work)
    try:
        app.run()
    finally:
        app.left.set()
    return running.result()
