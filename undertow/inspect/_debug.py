"""`debug`: runs a backward pass under the control of a page, a terminal or a program."""

from __future__ import annotations

import threading
import time

from undertow import _C
from undertow.inspect import _page
from undertow.inspect._control import Controller
from undertow.inspect._record import record
from undertow.inspect._statistics import statistics
from undertow.inspect._tables import LEAF, VALUES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from undertow import Tensor
    from undertow.autograd._node import Node
    from undertow.inspect._recording import Recording
    from undertow.nn import Module


_READ_EVERY = 0.05  # seconds


class Session(record):
    """A recording that a controller pauses before nodes. What the server and the terminal talk to."""

    _changes_gradients = True

    def __init__(self, *, is_abandoned: Callable[[], bool] = lambda: False, model: Module | None = None) -> None:
        super().__init__(forward=True, values=True, model=model)
        self.controller = Controller(self, is_abandoned=is_abandoned, before_pause=self._take)
        self._reading = threading.Lock()  # guards the tables: the pass and the server read the trace. Taken after the controller's lock, if both
        self._taken = 0.0  # when the trace was read
        self._names: dict[int, tuple[str, str | None, str | None, str | None]] = {}
        self._leaves: dict[int, str] = {}  # names of parameters by the core's number
        self._thread: int | None = None  # the one that runs the controlled passes; see _one_thread

    # -- what the controller asks ------------------------------------------------------------------------------------

    def _about(self, node: int) -> tuple[str, str | None, str | None, str | None]:
        """Return name, line, module and parameter of a node. A leaf belongs to the module of its parameter."""
        if node not in self._names:
            tables = self._tables
            row = {name: column[node] for name, column in tables.nodes.items()}
            line = tables.lines.list[row["line"]] if row["line"] >= 0 else None
            if row["place"] >= 0:
                path, number, _ = _C._trace_places([row["place"]])[0][0]
                line = f"{path}:{number}"
            module, parameter = self._modules.path(row["call"]), None
            if row["kind"] == LEAF:
                if row["leaf"] not in self._leaves:
                    self._leaves = self._modules.leaf_names()
                parameter = self._leaves.get(row["leaf"])
                module = parameter.rpartition(".")[0] if parameter is not None else module
            self._names[node] = tables.strings.list[row["name"]], line, module, parameter
        return self._names[node]

    def name(self, node: int) -> str:
        """Return the name of a node."""
        return self._about(node)[0]

    def line(self, node: int) -> str | None:
        """Return the line that made a node."""
        return self._about(node)[1]

    def module(self, node: int) -> str | None:
        """Return the path of the module that made a node."""
        return self._about(node)[2]

    def parameter(self, node: int) -> str | None:
        """Return the name of the parameter whose gradient a node accumulates."""
        return self._about(node)[3]

    def title(self, node: int) -> str:
        """Return what a person calls a node: the gradient of a parameter, or the node's name."""
        parameter = self.parameter(node)
        return self.name(node) if parameter is None else f"{parameter}.grad"

    # -- the pass ----------------------------------------------------------------------------------------------------

    def _observe(self, pass_id: int, node: Node, grads: list[Tensor | None]) -> Any:
        if threading.get_ident() != self._thread:  # a pass of another thread is recorded, but never waits for this session
            with self._reading:
                return super()._observe(pass_id, node, grads)
        number, row = self._rows(pass_id, node)
        if number < 0 or row < 0 or number >= len(self._tables.nodes["kind"]) or time.monotonic() - self._taken > _READ_EVERY:
            self._take()
            number, row = self._rows(pass_id, node)
        changed = self.controller.entering(number, row, grads)
        with self._reading:
            for slot, grad in enumerate(changed or grads):
                if grad is not None:
                    self._tables.add_values(pass_id, number, slot, statistics(grad))
        return changed

    def _rows(self, pass_id: int, node: Node) -> tuple[int, int]:
        """Return the rows of a node and of a pass, -1 as long as the trace was not read since they appeared."""
        return _C._trace_number(self._tables.recording, pass_id, node), self._tables.pass_row(pass_id)

    def _take(self) -> None:
        """Read the trace. It costs more than most nodes, so this is done before a pause and now and then for a page that looks on."""
        with self._reading:
            self._tables.take(end=False)
        self._taken = time.monotonic()

    def run(self, work: Callable[[], Any]) -> Recording:
        """Run `work`, whose passes are controlled; return the recording."""
        self._thread = threading.get_ident()
        with self._one_thread():
            try:
                with self as recording:
                    work()
            except BaseException as error:
                self.controller.finish(error)
                raise
        self.controller.finish()
        return recording

    def _one_thread(self) -> Any:
        from undertow.autograd.grad_mode import set_multithreading_enabled

        return set_multithreading_enabled(False)

    # -- what the server asks ----------------------------------------------------------------------------------------

    def page(self) -> str:
        """Return the page."""
        return _page.live()

    def recording(self) -> dict[str, Any]:
        """Return the recording so far."""
        with self._reading:
            if self._recording._data is not None:
                return self._recording._data
            return self._tables.build(self._modules)

    def poll(self, state: int, event: int, timeout: float) -> dict[str, Any]:
        """Return the state when it differs from number `state`, and the events from row `event` on."""
        found = self.controller.wait(state, timeout)
        with self._reading:
            first = max(event, 0)
            values = self._tables.values
            rows = [i for i, at in enumerate(values["event"]) if at >= first]
            found["event"] = len(self._tables.events["kind"]) - 1 if found["status"] == "paused" else None
            return {
                "state": found,
                "nodes": len(self._tables.nodes["kind"]),
                "events": self._tables.event_rows(first),
                "first": first,
                "values": {name: [values[name][i] for i in rows] for name in VALUES if name != "histogram"},
            }

    def news(self, first: int) -> tuple[list[tuple[int, int, int]], dict[int, list[float | None]]]:
        """Return (kind, row of the pass, node) of the events from row `first` on, and the norms of gradients by event."""
        with self._reading:
            events, values = self._tables.event_rows(first), self._tables.values
            norms: dict[int, list[float | None]] = {}
            for event, norm in zip(reversed(values["event"]), reversed(values["norm"]), strict=True):
                if event < first:
                    break
                norms.setdefault(event, []).insert(0, norm)
        return list(zip(events["kind"], events["pass"], events["node"], strict=True)), norms

    def command(self, request: Any) -> dict[str, Any]:
        """Carry out a command of the page."""
        return self.controller.command(request)


def debug(
    loss: Tensor | Callable[[], Any],
    *,
    ui: str = "browser",
    model: Module | None = None,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    port: int = 0,
    open_page: bool = True,
) -> Recording:
    """Run `loss.backward()` step by step, in the browser or the terminal; return the recording.

    `loss` may be a function instead: every backward pass that it runs is stepped through, and because its forward pass is recorded too,
    nodes have lines and modules. `ui` is "browser" (a page on this machine's loopback address; its address is printed, and opened unless
    `open_page=False`) or "terminal" (needs `pip install undertow[inspect]`). A pass that is stopped raises `inspect.Stopped`. Closing the
    page lets the pass finish.
    """
    if callable(loss):
        work: Callable[[], Any] = loss
    else:
        tensor = loss

        def work() -> None:
            tensor.backward(gradient, retain_graph, create_graph)

    if ui == "terminal":
        from undertow.inspect._terminal import run_in_terminal

        return run_in_terminal(Session(model=model), work)
    if ui != "browser":
        raise ValueError(f'debug: ui should be "browser" or "terminal", got {ui!r}')
    return _in_browser(work, model, port, open_page)


def _in_browser(work: Callable[[], Any], model: Module | None, port: int, open_page: bool) -> Recording:
    from undertow.inspect._server import LiveServer
    from undertow.inspect._show import announce

    server: LiveServer | None = None
    session = Session(is_abandoned=lambda: server is not None and server.is_abandoned(), model=model)
    server = LiveServer(session, port)
    try:
        announce(server.url, open_page)
        return session.run(work)
    finally:
        server.linger()
        server.close()
