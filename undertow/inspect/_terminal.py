"""Stepping through a pass in the terminal: a full-screen text interface on textual, over the same controller as the page."""

from __future__ import annotations

import shlex
import threading

import undertow
from undertow.inspect._control import CommandError

try:
    from textual.app import App, ComposeResult
    from textual.containers import Horizontal
    from textual.widgets import DataTable, Footer, Header, Input, Static
except ImportError:
    raise ImportError('debug(ui="terminal") needs textual, which is not installed: pip install "undertow[inspect]"') from None

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from undertow.inspect._debug import Session
    from undertow.inspect._recording import Recording

HELP = 'commands: break name|line|module|norm VALUE, break nan, unbreak ID, to NODE, set SLOT zero|original, set SLOT scale|fill NUMBER'


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
            case [("step" | "step_over" | "continue" | "pause" | "stop") as command]:
                return {"command": command}
    except ValueError as error:
        raise CommandError(str(error)) from None
    raise CommandError(HELP)


class Stepper(App[None]):
    """The interface: nodes that ran, the node that is next with its gradients, and a line for commands."""

    CSS = "DataTable{width:2fr} #details{width:3fr;padding:0 2} #message{height:1;color:$warning} Input{dock:bottom;margin-bottom:1}"
    BINDINGS = [
        ("s", "do('step')", "step"),
        ("o", "do('step_over')", "over module"),
        ("c", "do('continue')", "continue"),
        ("p", "do('pause')", "pause"),
        ("z", "zero", "zero gradient"),
        ("x", "do('stop')", "stop pass"),
        ("colon", "type", "command"),
        ("q", "leave", "let it finish"),
    ]
    TITLE = "undertow: a backward pass"

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._seen = -1
        self.left = threading.Event()  # the person has gone: the pass should run to its end

    def compose(self) -> ComposeResult:
        """Build the screen."""
        yield Header()
        with Horizontal():
            yield DataTable(id="order", cursor_type="row")
            yield Static(id="details")
        yield Static(id="message")
        yield Input(placeholder=HELP)
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
        self.query_one("#details", Static).update(self.details(state))
        if state["status"] == "paused":
            self._add_row(state)
        elif state["status"] != "running":
            self.query_one("#message", Static).update(f"{state['status']}{': ' + state['error'] if state['error'] else ''}; q leaves")

    def _add_row(self, state: dict[str, Any]) -> None:
        table, node = self.query_one(DataTable), state["node"]
        key = f"{state['pass']}.{node}"
        if key in {row.value for row in table.rows}:
            return
        norms = [f"{g['norm']:.3g}" for g in state["gradients"] if g["norm"] is not None]
        table.add_row(str(node), self._session.name(node), self._session.module(node) or "", " ".join(norms), key=key)
        table.move_cursor(row=table.row_count - 1)

    def details(self, state: dict[str, Any]) -> str:
        """Return the text about the node where the pass is paused."""
        if state["status"] != "paused":
            return str(state["status"])
        from rich.markup import escape

        node = state["node"]
        lines = [f"[b]{escape(self._session.name(node))}[/b]  node {node} of pass {state['pass']}, paused by {state['reason']}"]
        lines += [f"{what}: {escape(text)}" for what, text in (("line", self._session.line(node)), ("module", self._session.module(node))) if text]
        for g in state["gradients"]:
            figures = ", ".join(f"{key} {g[key]:.4g}" for key in ("norm", "min", "max", "mean") if g[key] is not None)
            counts = ", ".join(f"{g[key]} {word}" for key, word in (("zeros", "zeros"), ("nan", "NaN"), ("inf", "Inf")) if g[key])
            changed = " (changed)" if g["changed"] else ""
            lines += ["", f"gradient {g['slot']}: {g['dtype']} {escape(str(g['shape']))}{changed}", f"  {figures}", f"  {counts}" if counts else ""]
        lines += ["", *(f"breakpoint {b['id']}: {b['on']} {escape(str(b['value'] or ''))}" for b in state["breakpoints"])]
        return "\n".join(lines)

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
