"""Builds the tables of a recording (docs/trace_format.md) from what the core's trace gives.

The core gives nodes, edges, passes and events in batches; this module adds what Python knows: source files, modules, parameter names and
the formulas of the operator tables.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from array import array
from contextlib import contextmanager

from undertow import _C
from undertow.autograd._places import shown_file
from undertow.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from undertow.inspect._modules import ModuleRows

EVENTS = ("kind", "time", "thread", "pass", "node", "other", "slot", "dependencies", "memory")
VALUES = ("event", "node", "slot", "norm", "min", "max", "mean", "zeros", "nan", "inf", "size", "histogram")
EVENT_NAMES = (
    *("pass_started", "pass_finished", "ready", "started", "tensor_hook", "retains_grad_hook", "pre_hook", "post_hook", "finished", "arrived"),
    *("accumulated", "captured", "released", "failed", "forward"),
)
STARTED, FINISHED, ACCUMULATED, RELEASED, FORWARD = 3, 8, 10, 12, 14  # kinds of events
OPERATOR, LEAF, FUNCTION, STRUCTURAL, EXTENSION = range(5)  # kinds of nodes
_STRUCTURAL_NAMES = frozenset({"GraphRoot", "Identity", "Error", "CopySlices", "CopyBackwards", "UndefinedGrad", "DelayedError"})
HOOKS = range(4, 8)  # kinds of events
_MOST_SOURCE = 2_000_000  # characters of one source file


@contextmanager
def without_collector() -> Iterator[None]:
    """Switch the garbage collector off: it would walk the growing tables again and again."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


class Strings:
    """The strings of a recording, each once."""

    def __init__(self) -> None:
        self.list: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, text: str | None) -> int:
        """Return the row of a string, -1 for None."""
        if text is None:
            return -1
        found = self._numbers.get(text)
        if found is None:
            found = self._numbers[text] = len(self.list)
            self.list.append(text)
        return found


def _source(path: str) -> str | None:
    """Return the text of a source file, or of a cell of a notebook; None if it cannot be read."""
    import linecache

    lines = linecache.getlines(path)
    if not lines:
        return None
    return "".join(lines)[:_MOST_SOURCE]


def short_path(path: str) -> str:
    """Return the path relative to the current folder, if the file is below it; a cell of a notebook by its number."""
    path = shown_file(path)
    if not os.path.isabs(path):
        return path
    try:
        relative = os.path.relpath(path)
    except (OSError, ValueError):  # the folder is gone, or on another drive
        return path
    return path if relative.startswith("..") else relative


class Files:
    """The source files of a recording."""

    def __init__(self) -> None:
        self.list: list[dict[str, Any]] = []
        self._numbers: dict[str, int] = {}

    def number(self, path: str) -> int:
        """Return the row of a file, -1 for an unknown one."""
        if not path:
            return -1
        found = self._numbers.get(path)
        if found is None:
            found = self._numbers[path] = len(self.list)
            self.list.append({"path": short_path(path), "text": _source(path)})
        return found


def _ints(data: bytes) -> list[int]:
    column = array("q")
    column.frombytes(data)
    return column.tolist()


class Tables:
    """Collects the batches of one recording."""

    def __init__(self, *, forward: bool, values: bool, memory: bool, library: str = "undertow") -> None:
        self.start = time.monotonic_ns()
        self.created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.forward, self.with_values, self.memory, self.library = forward, values, memory, library
        self.strings, self.files = Strings(), Files()
        self.nodes: list[tuple[Any, ...]] = []  # rows of the core
        self.node_columns: dict[str, list[int]] = {name: [] for name in ("sequence", "place", "module", "time", "thread")}
        self.edges: dict[str, list[int]] = {name: [] for name in ("from", "from_slot", "to", "to_slot")}
        self.passes: list[tuple[Any, ...]] = []
        self.steps: list[int] = []
        self.events: dict[str, list[Any]] = {name: [] for name in EVENTS}
        self.values: dict[str, list[Any]] = {name: [] for name in VALUES}
        self.errors: dict[int, str] = {}
        self.truncated = False
        self.recording = 0  # the core's number of it
        self.missing: list[dict[str, Any]] = []  # why parameters got no gradient
        self.unused_nodes = 0
        self.step = 0
        self._lock = threading.Lock()  # guards all tables: several threads of a pass may add to them
        self._pending_values: list[tuple[int, int, int, dict[str, Any]]] = []
        self._started: dict[tuple[int, int], int] = {}  # event row by pass id and node

    @without_collector()
    def take(self, *, end: bool) -> None:
        """Add what the core has recorded since the last call; `end` stops the recording."""
        with self._lock:
            self._take(end)

    def _take(self, end: bool) -> None:
        batch = _C._trace_read(self.recording, end)
        self.nodes += batch["nodes"]
        for name, column in self.node_columns.items():
            column += _ints(batch[f"node.{name}"])
        for name, column in self.edges.items():
            column += _ints(batch[f"edge.{name}"])
        self.passes += batch["passes"]
        self.steps += [self.step] * len(batch["passes"])
        self.errors.update(batch["errors"])
        self.truncated |= batch["dropped"]
        self.unused_nodes += batch["unused_nodes"]
        new = {name: _ints(batch[f"event.{name}"]) for name in EVENTS}
        if not self.forward and FORWARD in new["kind"]:
            kept = [i for i, kind in enumerate(new["kind"]) if kind != FORWARD]
            new = {name: [column[i] for i in kept] for name, column in new.items()}
        first = len(self.events["kind"])
        for name, column in self.events.items():
            column += new[name]
        if self._pending_values or self.with_values:
            for i, (kind, at, node) in enumerate(zip(new["kind"], new["pass"], new["node"], strict=True)):
                if kind == STARTED:
                    self._started[at, node] = first + i
        self._place_values()

    def add_values(self, pass_id: int, node: int, slot: int, statistics: dict[str, Any]) -> None:
        """Add the statistics of a gradient that enters a node."""
        with self._lock:
            self._pending_values.append((pass_id, node, slot, statistics))

    def _place_values(self) -> None:
        waiting = []
        for row in self._pending_values:
            pass_id, node, slot, statistics = row
            event = self._started.get((pass_id, node))
            if event is None:
                waiting.append(row)
                continue
            found = {"event": event, "node": node, "slot": slot, **statistics}
            for name, column in self.values.items():
                column.append(found[name])
        self._pending_values = waiting

    def pass_row(self, pass_id: int) -> int:
        """Return the row of a pass, -1 if unknown."""
        return next((i for i, row in enumerate(self.passes) if row[0] == pass_id), -1)

    def event_rows(self, first: int) -> dict[str, list[Any]]:
        """Return the events from row `first` on as they are in a file."""
        rows = {row[0]: i for i, row in enumerate(self.passes)}
        part = {name: column[first:] for name, column in self.events.items()}
        part["time"] = [t - self.start for t in part["time"]]
        part["pass"] = [rows.get(p, -1) for p in part["pass"]]
        if not self.memory:
            part["memory"] = [None] * len(part["kind"])
        return part

    @without_collector()
    def build(self, modules: ModuleRows | None = None, program: str | None = None) -> dict[str, Any]:
        """Return the recording as the object that a file holds."""
        number = self.strings.number
        stacks = self._stacks()
        module_table, module_rows = modules.table(number) if modules else ({"path_s": [number("")], "class_s": [number("")], "parent": [-1]}, {})
        leaf_names = modules.leaf_names() if modules else {}
        nodes, operators = self._node_table(stacks, module_rows, leaf_names)
        return {
            "format": "undertow-trace",
            "version": 1,
            "meta": {
                "program": program if program is not None else short_path(sys.argv[0]) if sys.argv and sys.argv[0] else "python",
                "library": self.library,
                "library_version": __version__,
                "created": self.created,
                "python": sys.version.split()[0],
                "forward": self.forward,
                "values": self.with_values,
                "ranks": None,
                "truncated": self.truncated,
                "unused_nodes": self.unused_nodes,
            },
            "modules": module_table,
            "operators": operators,
            "nodes": nodes,
            "edges": self.edges,
            "passes": self._pass_table(),
            "events": self.event_rows(0),
            "threads": self._thread_table(),
            "values": self.values,
            "params": self._param_table(modules, module_rows),
            "hooks": self._hook_table(),
            "notes": self.missing,
            "marks": {},
            "files": self.files.list,
            "strings": self.strings.list,
        }

    def _stacks(self) -> dict[int, list[list[int]]]:
        """Return the stacks of all places that nodes name: [file, line, function_s], innermost first."""
        places = sorted({p for p in self.node_columns["place"] if p >= 0})
        number, file = self.strings.number, self.files.number
        return {
            place: [[file(path), line, number(function)] for path, line, function in frames]
            for place, frames in zip(places, _C._trace_places(places), strict=True)
        }

    def _node_table(self, stacks: dict[int, Any], module_rows: dict[int, int], leaf_names: dict[int, str]) -> tuple[dict[str, Any], dict[str, Any]]:
        from undertow.inspect._formulas import Operators

        number = self.strings.number
        operators = Operators(number)
        names = ("name_s", "kind", "sequence", "operator", "file", "line", "function_s", "stack", "module", "outputs", "saved", "leaf_s")
        table: dict[str, list[Any]] = {name: [] for name in names}
        for i, (name, line, kind, leaf, outputs, saved) in enumerate(self.nodes):
            stack = stacks.get(self.node_columns["place"][i])
            operator = operators.row(name) if kind == OPERATOR else -1
            if kind == OPERATOR and operator < 0:
                kind = STRUCTURAL if name in _STRUCTURAL_NAMES else EXTENSION
            if stack:
                file, line_number, function = stack[0]
            else:
                path, _, text = line.rpartition(":")
                file, line_number, function = self.files.number(path), int(text) if text.isdigit() else 0, -1
            row = (
                number(name),
                kind,
                self.node_columns["sequence"][i] if kind != LEAF else -1,
                operator,
                file,
                line_number if file >= 0 else None,
                function,
                stack,
                module_rows.get(self.node_columns["module"][i], -1),
                outputs,
                saved,
                number(leaf_names.get(leaf)) if kind == LEAF else -1,
            )
            for column, value in zip(table.values(), row, strict=True):
                column.append(value)
        table["forward_time"] = [t - self.start if t >= 0 else None for t in self.node_columns["time"]]
        table["forward_thread"] = [t if t >= 0 else None for t in self.node_columns["thread"]]
        return table, operators.table()

    def _pass_table(self) -> dict[str, list[Any]]:
        number = self.strings.number
        rows = {row[0]: i for i, row in enumerate(self.passes)}
        start, end = {}, {}
        for kind, at, when in zip(self.events["kind"], self.events["pass"], self.events["time"], strict=True):
            if kind == 0:
                start[at] = when
            elif at:
                end[at] = when
        out: dict[str, list[Any]] = {
            "number": [row[0] for row in self.passes],
            "parent": [rows.get(row[1], -1) for row in self.passes],
            "depth": [row[3] for row in self.passes],
            "thread": [row[2] for row in self.passes],
            "kind_s": [number("backward" if row[6] else "grad") for row in self.passes],
            "start": [start.get(row[0], self.start) - self.start for row in self.passes],
            "end": [end.get(row[0], self.start) - self.start for row in self.passes],
            "keep_graph": [row[4] for row in self.passes],
            "create_graph": [row[5] for row in self.passes],
            "roots": [[row[7]] for row in self.passes],
            "captures": [row[8] for row in self.passes],
            "error_s": [number(self.errors.get(row[0])) for row in self.passes],
            "step": self.steps,
        }
        return out

    def _thread_table(self) -> dict[str, list[int]]:
        seen = sorted({*self.events["thread"], *(t for t in self.node_columns["thread"] if t >= 0)})
        callers = {row[2] for row in self.passes if row[3] == 0}
        label = self.strings.number
        return {"number": seen, "name_s": [label(f"thread {t}" if t in callers or not callers else f"worker {t}") for t in seen]}

    def _param_table(self, modules: ModuleRows | None, module_rows: dict[int, int]) -> dict[str, list[Any]]:
        number = self.strings.number
        by_leaf = {row[3]: i for i, row in enumerate(self.nodes) if row[2] == LEAF}
        table: dict[str, list[Any]] = {name: [] for name in ("name_s", "node", "module", "shape", "dtype", "grad", "requires_grad")}
        for name, module, tensor in modules.parameters() if modules else ():
            grad = tensor.grad
            row = (
                number(name),
                by_leaf.get(_C._tensor_number(tensor), -1),
                module_rows.get(module, -1),
                list(tensor.shape),
                str(tensor.dtype).rpartition(".")[2],
                "none" if grad is None else "sparse" if grad.layout is not _C.strided else "dense",
                tensor.requires_grad,
            )
            for column, value in zip(table.values(), row, strict=True):
                column.append(value)
        return table

    def _hook_table(self) -> dict[str, list[Any]]:
        number = self.strings.number
        seen: dict[tuple[int, str, int], None] = {}
        for kind, node, other in zip(self.events["kind"], self.events["node"], self.events["other"], strict=True):
            if kind in HOOKS:
                seen[node, EVENT_NAMES[kind], other] = None
        return {
            "node": [row[0] for row in seen],
            "kind": [row[1] for row in seen],
            "name_s": [number(f"{row[1]} {row[2]}") for row in seen],
            "file": [-1] * len(seen),
            "line": [None] * len(seen),
        }


def rows_of(table: dict[str, list[Any]]) -> Iterable[dict[str, Any]]:
    """Yield the rows of a table as dictionaries."""
    for values in zip(*table.values(), strict=True):
        yield dict(zip(table, values, strict=True))
