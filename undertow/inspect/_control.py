"""The logic of stepping through a pass: when to pause, and what a person may do then. Knows no user interface and no engine.

The thread that runs the pass calls `entering` before each node; it blocks there while the pass is paused. Any other thread calls
`command` and `wait`. docs/trace_format.md lists the commands.
"""

from __future__ import annotations

import threading
import time
from math import isfinite

import undertow
from undertow.inspect._statistics import statistics

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    from undertow import Tensor

    class Graph(Protocol):
        """What the controller asks about nodes."""

        def name(self, node: int) -> str: ...
        def title(self, node: int) -> str: ...
        def line(self, node: int) -> str | None: ...
        def module(self, node: int) -> str | None: ...


MOST_SHOWN = 64  # rows and columns of a gradient in one answer
_BREAKPOINTS = {"name": str, "line": str, "module": str, "node": int, "nan": type(None), "norm": (int, float)}


class Stopped(RuntimeError):
    """A pass was stopped by the person who stepped through it."""


class CommandError(ValueError):
    """A command that cannot be carried out; its text says why."""


def _is_below(module: str | None, outer: str | None) -> bool:
    if module is None or outer is None:
        return module == outer
    return outer == "" or module == outer or module.startswith(outer + ".")


class Controller:
    """Decides before each node whether the pass pauses, and carries out commands while it does."""

    def __init__(self, graph: Graph, *, is_abandoned: Callable[[], bool] = lambda: False, before_pause: Callable[[], None] = lambda: None) -> None:
        self._graph = graph
        self.is_abandoned = is_abandoned
        self._before_pause = before_pause  # called by the thread of the pass
        self._changed = threading.Condition()  # guards everything below
        self._number = 0
        self._status = "running"
        self._goal: tuple[str, Any] = ("start", None)  # until when to run
        self._at: tuple[int, int] | None = None  # node and pass where it is paused
        self._reason: str | None = None
        self._hit: int | None = None
        self._error: str | None = None
        self._grads: list[Tensor | None] = []
        self._original: list[Tensor | None] = []
        self._breakpoints: dict[int, tuple[str, Any]] = {}
        self._next_id = 1
        self._turn = threading.Lock()  # one node at a time, if several threads run nodes

    # -- the thread of the pass --------------------------------------------------------------------------------------

    def entering(self, node: int, pass_row: int, grads: list[Tensor | None]) -> list[Tensor | None] | None:
        """Pause if it is time to; return the gradients if they were changed. Raises Stopped if the pass should end."""
        with self._turn, self._changed:
            reason, hit = self._why_pause(node, grads)
            if reason is None:
                return None
            self._before_pause()
            self._status, self._at, self._reason, self._hit = "paused", (node, pass_row), reason, hit
            self._grads, self._original = list(grads), list(grads)
            self._notify()
            while self._status == "paused":
                self._changed.wait(0.25)  # a limit, so that signals arrive and a closed page is noticed
                if self._status == "paused" and self.is_abandoned():
                    self._goal, self._status = ("end", None), "running"
                    self._breakpoints.clear()
            changed = any(a is not b for a, b in zip(self._grads, self._original, strict=True))
            result = self._grads if changed else None
            self._grads, self._original, self._at, self._reason, self._hit = [], [], None, None, None
            self._notify()
            if self._goal[0] == "stop":
                raise Stopped("the pass was stopped in the inspector")
            return result

    def finish(self, error: BaseException | None = None) -> None:
        """Say that the pass has ended."""
        with self._changed:
            self._status = "finished" if error is None else "stopped" if isinstance(error, Stopped) else "failed"
            self._error = None if error is None else f"{type(error).__name__}: {error}"
            self._notify()

    def _why_pause(self, node: int, grads: list[Tensor | None]) -> tuple[str | None, int | None]:
        for number, (on, value) in self._breakpoints.items():
            if self._breaks(on, value, node, grads):
                return "breakpoint", number
        goal, value = self._goal
        if goal in ("start", "step", "pause"):
            return goal, None
        if goal == "node" and node == value:
            return goal, None
        if goal == "module" and not _is_below(self._graph.module(node), value):
            return goal, None
        return None, None

    def _breaks(self, on: str, value: Any, node: int, grads: list[Tensor | None]) -> bool:
        if on == "name":
            return value in (self._graph.name(node), self._graph.title(node))
        if on == "node":
            return node == value
        if on == "line":
            line = self._graph.line(node)
            return line is not None and (line == value or line.endswith("/" + value))
        if on == "module":
            return self._graph.module(node) is not None and _is_below(self._graph.module(node), value)
        figures = [statistics(g, histogram=False) for g in grads if g is not None]
        if on == "nan":
            return any(f["nan"] or f["inf"] for f in figures)
        return any(f["norm"] is not None and f["norm"] > value for f in figures)

    # -- other threads -----------------------------------------------------------------------------------------------

    def wait(self, number: int, timeout: float) -> dict[str, Any]:
        """Return the state as soon as its number differs, or after `timeout` seconds."""
        end = time.monotonic() + timeout
        with self._changed:
            while self._number == number and (left := end - time.monotonic()) > 0:
                self._changed.wait(left)
            return self._state()

    def state(self) -> dict[str, Any]:
        """Return the state: where the pass is, why it paused, the gradients there, and the breakpoints."""
        with self._changed:
            return self._state()

    def command(self, request: Any) -> dict[str, Any]:
        """Carry out a command; return what the answer has besides the state. Raises CommandError."""
        if not isinstance(request, dict) or not isinstance(request.get("command"), str):
            raise CommandError("expected an object with a command")
        name = request["command"]
        action = getattr(self, f"_do_{name}", None)
        if action is None:
            raise CommandError(f"there is no command {name!r}")
        with self._changed:
            answer = action(request) or {}
            self._notify()
            return {**answer, "state": self._state()}

    def _notify(self) -> None:
        self._number += 1
        self._changed.notify_all()

    def _state(self) -> dict[str, Any]:
        node, pass_row = self._at or (None, None)
        gradients = []
        if self._status == "paused":
            for slot, (grad, original) in enumerate(zip(self._grads, self._original, strict=True)):
                if grad is not None:
                    shape, dtype = list(grad.shape), str(grad.dtype).rpartition(".")[2]
                    gradients.append({"slot": slot, "shape": shape, "dtype": dtype, **statistics(grad), "changed": grad is not original})
        return {
            "number": self._number,
            "status": self._status,
            "node": node,
            "pass": pass_row,
            "reason": self._reason,
            "breakpoint": self._hit,
            "error": self._error,
            "gradients": gradients,
            "breakpoints": [{"id": i, "on": on, "value": value} for i, (on, value) in self._breakpoints.items()],
        }

    # -- commands ----------------------------------------------------------------------------------------------------

    def _paused(self) -> tuple[int, int]:
        if self._status != "paused" or self._at is None:
            raise CommandError("the pass is not paused")
        return self._at

    def _run(self, goal: str, value: Any = None) -> None:
        self._paused()
        self._goal, self._status = (goal, value), "running"

    def _do_step(self, request: dict[str, Any]) -> None:
        self._run("step")

    def _do_step_over(self, request: dict[str, Any]) -> None:
        module = self._graph.module(self._paused()[0])
        self._run("step") if module is None else self._run("module", module)

    def _do_run_to(self, request: dict[str, Any]) -> None:
        if type(request.get("node")) is not int:
            raise CommandError("run_to expects the number of a node")
        self._run("node", request["node"])

    def _do_continue(self, request: dict[str, Any]) -> None:
        self._run("end")

    def _do_pause(self, request: dict[str, Any]) -> None:
        if self._status != "running":
            raise CommandError("the pass is not running")
        self._goal = ("pause", None)

    def _do_stop(self, request: dict[str, Any]) -> None:
        self._run("stop")

    def _do_break(self, request: dict[str, Any]) -> None:
        on, value = request.get("on"), request.get("value")
        if not isinstance(on, str) or on not in _BREAKPOINTS:
            raise CommandError(f"break on one of {', '.join(_BREAKPOINTS)}; got {on!r}")
        wanted: Any = _BREAKPOINTS[on]
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise CommandError(f"break on {on}: {value!r} is no value for it")
        self._breakpoints[self._next_id] = (on, value)
        self._next_id += 1

    def _do_unbreak(self, request: dict[str, Any]) -> None:
        if self._breakpoints.pop(request.get("id"), None) is None:  # type: ignore[arg-type]  # any other key is not there either
            raise CommandError(f"there is no breakpoint {request.get('id')!r}")

    def _slot(self, request: dict[str, Any]) -> int:
        self._paused()
        slot = request.get("slot", 0)
        if type(slot) is not int or not 0 <= slot < len(self._grads) or self._grads[slot] is None:
            raise CommandError(f"no gradient enters slot {slot!r}")
        return slot

    def _do_gradient(self, request: dict[str, Any]) -> dict[str, Any]:
        grad: Any = self._grads[self._slot(request)]
        start = _indices(request.get("start", [0] * grad.ndim), grad.ndim)
        size = _indices(request.get("shape", [MOST_SHOWN] * min(grad.ndim, 2)), min(grad.ndim, 2))
        if grad.layout is not undertow.strided:
            grad = grad.to_dense()
        part = grad.detach()
        for index in start[: max(grad.ndim - 2, 0)]:
            if not 0 <= index < part.shape[0]:
                raise CommandError(f"index {index} is outside of shape {list(grad.shape)}")
            part = part[index]
        for d, (first, count) in enumerate(zip(start[max(grad.ndim - 2, 0) :], size, strict=True)):
            first = min(max(first, 0), part.shape[d])
            part = part.narrow(d, first, min(max(count, 0), MOST_SHOWN, part.shape[d] - first))
        return {"values": _numbers(part.tolist())}

    def _do_set(self, request: dict[str, Any]) -> None:
        slot = self._slot(request)
        with undertow.no_grad():
            self._grads[slot] = _changed(self._grads[slot], self._original[slot], request.get("to"))


def _indices(given: Any, count: int) -> list[int]:
    if not isinstance(given, list) or len(given) != count or not all(type(i) is int for i in given):
        raise CommandError(f"expected a list of {count} integers, got {given!r}")
    return given


def _numbers(values: Any) -> Any:
    """Return nested lists without numbers that JSON lacks: null for NaN, "inf" and "-inf"."""
    if isinstance(values, list):
        return [_numbers(v) for v in values]
    if isinstance(values, complex):
        return [_numbers(values.real), _numbers(values.imag)]
    if isinstance(values, float) and not isfinite(values):
        return None if values != values else "inf" if values > 0 else "-inf"
    return values


def _changed(grad: Any, original: Any, to: Any) -> Any:
    """Return the gradient after a change that a `set` command asks for."""
    if to == "zero":
        return grad * 0 if grad.layout is not undertow.strided else undertow.zeros_like(grad)
    if to == "original":
        return original
    if isinstance(to, dict):
        number = next(iter(to.values()), None)
        if isinstance(number, (int, float)) and not isinstance(number, bool):
            if set(to) == {"scale"}:
                return grad * number
            if set(to) == {"fill"}:
                return undertow.full_like(grad, number)
            if set(to) == {"remove_nan"}:
                return undertow.where(grad.isfinite(), grad, undertow.full_like(grad, number))
        if set(to) == {"at", "value"} and isinstance(to["value"], (int, float)):
            at = _indices(to["at"], grad.ndim)
            if any(not 0 <= i < n for i, n in zip(at, grad.shape, strict=True)):
                raise CommandError(f"index {at} is outside of shape {list(grad.shape)}")
            result = grad.clone()
            result[tuple(at)] = to["value"]
            return result
    raise CommandError(f"set: cannot change a gradient to {to!r}")
