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
from contextlib import contextmanager

from undertow import _C
from undertow._ranks import rank_and_size
from undertow.autograd._diagnostics.places import shown_file
from undertow.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from undertow.inspect._modules import ModuleRows

EVENTS = ("kind", "time", "thread", "pass", "node", "other", "slot", "dependencies", "memory")
NODES = ("name", "line", "kind", "leaf", "sequence", "place", "call", "time", "thread", "outputs", "saved")
VALUES = ("event", "node", "slot", "norm", "min", "max", "mean", "zeros", "nan", "inf", "size", "histogram")
EVENT_NAMES = (
    *("pass_started", "pass_finished", "ready", "started", "tensor_hook", "retains_grad_hook", "pre_hook", "post_hook", "finished", "arrived"),
    *("accumulated", "captured", "released", "failed", "forward"),
)
READY, STARTED, FINISHED, ACCUMULATED, RELEASED, FORWARD = 2, 3, 8, 10, 12, 14  # kinds of events
OPERATOR, LEAF, FUNCTION, STRUCTURAL, EXTENSION = range(5)  # kinds of nodes
_STRUCTURAL_NAMES = frozenset({"GraphRoot", "Identity", "Error", "CopySlices", "CopyBackwards", "UndefinedGrad", "DelayedError"})
_MOST_SOURCE = 2_000_000  # characters of one source file


def counted(n: int, one: str, many: str = "") -> str:
    """Return a number and what it counts.

    >>> counted(1, "pass", "passes"), counted(2000, "node")
    ('1 pass', '2,000 nodes')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


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


class Tables:
    """Collects the batches of one recording."""

    def __init__(self, *, forward: bool, values: bool, memory: bool, library: str = "undertow") -> None:
        self.start = time.monotonic_ns()
        self.created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.forward, self.with_values, self.memory, self.library = forward, values, memory, library
        self.strings, self.files = Strings(), Files()
        self.lines = Strings()  # file:line, of nodes that no recorded operation made
        self.nodes: dict[str, list[Any]] = {name: [] for name in NODES}
        self.edges: dict[str, list[int]] = {name: [] for name in ("from", "from_slot", "to", "to_slot")}
        self.passes: list[tuple[Any, ...]] = []  # rows of the core
        self.hooks: dict[tuple[int, int, str, str], None] = {}  # node, kind, name, file:line
        self.steps: list[int] = []
        self.events: dict[str, list[Any]] = {name: [] for name in EVENTS}
        self.values: dict[str, list[Any]] = {name: [] for name in VALUES}
        self.errors: dict[int, str] = {}
        self.truncated = False
        self.recording = 0  # the core's number of it
        self.missing: list[dict[str, Any]] = []  # notes: why parameters got no gradient
        self.holders: list[dict[str, Any]] = []  # notes: which objects of the program keep graphs alive
        self.unused_nodes = 0
        self.step = 0
        self._threads: dict[int, int] = {}  # rows of the core's threads, in the order in which they appear
        self._lock = threading.Lock()  # guards all tables: several threads of a pass may add to them
        self._pending_values: list[tuple[int, int, int, dict[str, Any]]] = []
        self._started: dict[tuple[int, int], int] = {}  # event row by pass id and node

    @without_collector()
    def take(self, *, end: bool) -> None:
        """Add what the core has recorded since the last call; `end` stops the recording."""
        with self._lock:
            self._take(end)

    def _take(self, end: bool) -> None:
        batch = _C._trace_read(self.recording, end, self.forward, self.start)
        for key, names, known in (("name", batch["names"], self.strings), ("line", batch["lines"], self.lines)):
            rows = [known.number(text) for text in names] + [-1]  # the last one for -1
            self.nodes[key] += [rows[i] for i in batch[f"node.{key}"]]
        for name in ("kind", "leaf", "sequence", "place", "call", "time", "thread"):
            self.nodes[name] += batch[f"node.{name}"]
        self.nodes["outputs"] += batch["outputs"]
        self.nodes["saved"] += batch["saved"]
        self.hooks.update(dict.fromkeys(batch["hooks"]))
        for name, column in self.edges.items():
            column += batch[f"edge.{name}"]
        for thread in dict.fromkeys([*batch["event.thread"], *batch["node.thread"]]):
            if thread >= 0:
                self._threads.setdefault(thread, len(self._threads))
        self.passes += batch["passes"]
        self.steps += [self.step] * len(batch["passes"])
        self.errors.update(batch["errors"])
        self.truncated |= batch["dropped"]
        self.unused_nodes += batch["unused_nodes"]
        first = len(self.events["kind"])
        for name, column in self.events.items():
            column += batch[f"event.{name}"]
        if self._pending_values or self.with_values:
            for i, (kind, at, node) in enumerate(zip(batch["event.kind"], batch["event.pass"], batch["event.node"], strict=True)):
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
        return next((i for i in range(len(self.passes) - 1, -1, -1) if self.passes[i][0] == pass_id), -1)

    def event_rows(self, first: int) -> dict[str, list[Any]]:
        """Return the events from row `first` on as they are in a file."""
        rows = {row[0]: i for i, row in enumerate(self.passes)}
        part = {name: column[first:] for name, column in self.events.items()}
        part["pass"] = [rows.get(p, -1) for p in part["pass"]]
        part["thread"] = [self._threads.get(t, 0) for t in part["thread"]]
        if not self.memory:
            part["memory"] = [None] * len(part["kind"])
        return part

    @without_collector()
    def build(self, modules: ModuleRows | None = None, program: str | None = None) -> dict[str, Any]:
        """Return the recording as the object that a file holds."""
        number = self.strings.number
        stacks = self._stacks()
        module_table, module_rows = modules.table(number) if modules else ({"path_s": [number("")], "class_s": [number("")], "parent": [-1]}, {})
        calls, call_rows = modules.call_table(set(self.nodes["call"]), module_rows) if modules else ({"module": [], "parent": []}, {})
        leaf_names = modules.leaf_names() if modules else {}
        nodes, operators = self._node_table(stacks, calls["module"], call_rows, leaf_names)
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
                "ranks": None if (ranks := rank_and_size()) is None else list(ranks),
                "truncated": self.truncated,
                "unused_nodes": self.unused_nodes,
            },
            "modules": module_table,
            "calls": calls,
            "operators": operators,
            "nodes": nodes,
            "edges": self.edges,
            "passes": self._pass_table(),
            "events": self.event_rows(0),
            "threads": self._thread_table(),
            "values": self.values,
            "params": self._param_table(modules, module_rows),
            "hooks": self._hook_table(),
            "notes": self.missing + self.holders,
            "marks": {},
            "files": self.files.list,
            "strings": self.strings.list,
        }

    def _stacks(self) -> dict[int, list[list[int]]]:
        """Return the stacks of all places that nodes name: [file, line, function_s], innermost first."""
        places = sorted({p for p in self.nodes["place"] if p >= 0})
        number, file = self.strings.number, self.files.number
        return {
            place: [[file(path), line, number(function)] for path, line, function in frames]
            for place, frames in zip(places, _C._trace_places(places), strict=True)
        }

    def _node_table(
        self, stacks: dict[int, Any], call_modules: list[int], call_rows: dict[int, int], leaf_names: dict[int, str]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        from undertow.inspect._formulas import Operators

        number, texts = self.strings.number, self.strings.list
        nodes, operators = self.nodes, Operators(number)
        kinds, names = nodes["kind"], nodes["name"]
        operator_of = {name: operators.row(texts[name]) for name in {n for n, kind in zip(names, kinds, strict=True) if kind == OPERATOR}}
        other_kind = {name: STRUCTURAL if texts[name] in _STRUCTURAL_NAMES else EXTENSION for name, row in operator_of.items() if row < 0}
        by_place = {place: (*stack[0], stack) for place, stack in stacks.items()}
        by_line = {-1: (-1, None, -1, None), **{i: self._spot(text) for i, text in enumerate(self.lines.list)}}
        spots = [by_place[place] if place in by_place else by_line[line] for place, line in zip(nodes["place"], nodes["line"], strict=True)]
        calls = [call_rows.get(call, -1) for call in nodes["call"]]
        table: dict[str, list[Any]] = {
            "name_s": names,
            "kind": [other_kind.get(name, kind) if kind == OPERATOR else kind for name, kind in zip(names, kinds, strict=True)],
            "sequence": [-1 if kind == LEAF else n for n, kind in zip(nodes["sequence"], kinds, strict=True)],
            "operator": [operator_of[name] if kind == OPERATOR else -1 for name, kind in zip(names, kinds, strict=True)],
            "file": [spot[0] for spot in spots],
            "line": [spot[1] for spot in spots],
            "function_s": [spot[2] for spot in spots],
            "stack": [spot[3] for spot in spots],
            "module": [call_modules[row] if row >= 0 else -1 for row in calls],
            "call": calls,
            "outputs": nodes["outputs"],
            "saved": nodes["saved"],
            "leaf_s": [number(leaf_names.get(leaf)) if kind == LEAF else -1 for leaf, kind in zip(nodes["leaf"], kinds, strict=True)],
            "forward_time": [t if t >= 0 else None for t in nodes["time"]],
            "forward_thread": [self._threads.get(t) for t in nodes["thread"]],
        }
        return table, operators.table()

    def _spot(self, line: str) -> tuple[int, int | None, int, None]:
        """Return file, line number, function and stack of a text file:line."""
        path, _, text = line.rpartition(":")
        file = self.files.number(path)
        return file, (int(text) if text.isdigit() else 0) if file >= 0 else None, -1, None

    def _pass_table(self) -> dict[str, list[Any]]:
        number = self.strings.number
        rows = {row[0]: i for i, row in enumerate(self.passes)}
        start, end = self._first_and_last()
        out: dict[str, list[Any]] = {
            "number": [row[0] for row in self.passes],
            "parent": [rows.get(row[1], -1) for row in self.passes],
            "depth": [row[3] for row in self.passes],
            "thread": [self._threads.get(row[2], 0) for row in self.passes],
            "kind_s": [number("backward" if row[6] else "grad") for row in self.passes],
            "start": [start.get(row[0], 0) for row in self.passes],
            "end": [end.get(row[0], 0) for row in self.passes],
            "keep_graph": [row[4] for row in self.passes],
            "create_graph": [row[5] for row in self.passes],
            "roots": [[row[7]] for row in self.passes],
            "captures": [row[8] for row in self.passes],
            "error_s": [number(self.errors.get(row[0])) for row in self.passes],
            "step": self.steps,
        }
        return out

    def _first_and_last(self) -> tuple[dict[int, int], dict[int, int]]:
        """Return the times of the first and the last event of each pass."""
        passes, times = self.events["pass"], self.events["time"]
        start = {passes[i]: times[i] for i, kind in enumerate(self.events["kind"]) if kind == 0}
        end: dict[int, int] = {}
        for i in range(len(passes) - 1, -1, -1):
            if passes[i] and passes[i] not in end:
                end[passes[i]] = times[i]
                if len(end) == len(self.passes):
                    break
        return start, end

    def _thread_table(self) -> dict[str, list[int]]:
        callers = {self._threads.get(row[2], 0) for row in self.passes if row[3] == 0}
        seen, label = list(range(max(len(self._threads), 1))), self.strings.number
        return {"number": seen, "name_s": [label(f"thread {t}" if t in callers or not callers else f"worker {t}") for t in seen]}

    def _param_table(self, modules: ModuleRows | None, module_rows: dict[int, int]) -> dict[str, list[Any]]:
        number = self.strings.number
        by_leaf = {leaf: i for i, leaf in enumerate(self.nodes["leaf"]) if leaf}
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
        spots = [self._spot(line) for _, _, _, line in self.hooks]
        return {
            "node": [node for node, _, _, _ in self.hooks],
            "kind": [EVENT_NAMES[kind] for _, kind, _, _ in self.hooks],
            "name_s": [number(name) for _, _, name, _ in self.hooks],
            "file": [spot[0] for spot in spots],
            "line": [spot[1] for spot in spots],
        }


def rows_of(table: dict[str, list[Any]]) -> Iterable[dict[str, Any]]:
    """Yield the rows of a table as dictionaries."""
    for values in zip(*table.values(), strict=True):
        yield dict(zip(table, values, strict=True))
