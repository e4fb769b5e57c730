"""Build the events of a profile from the core's records.

The core provides ranges (calls from Python, user ranges), marks (operators, at the end of their forward; see
Note [Profile Marks]) and the engine's trace (backward nodes). They are merged by time, separately for each thread.
"""

from __future__ import annotations

from undertow import _C
from undertow.autograd._profiler.events import EventList, FunctionEvent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MARK, _BEGIN, _END = range(3)
_CALL, _USER, _FUNCTION, _NODE = "call", "user", "function", "node"
_KINDS = {"\n": _USER, "\v": _FUNCTION}  # by the first character of a range's name (profile.h)
_APPLY_ENDS = ("post_hook", "accumulated", "released", "finished")
_CREATORS = {"arange", "eye", "full", "linspace", "logspace", "normal", "ones", "rand", "randint", "randn", "randperm", "zeros"}
_BEFORE_APPLY = ("tensor_hook", "retains_grad_hook", "pre_hook")


class _Open:
    """A range that is open on some thread."""

    __slots__ = ("bytes", "cursor", "event", "kind")

    def __init__(self, event: FunctionEvent, kind: str, at: float, in_use: int) -> None:
        self.event = event
        self.kind = kind
        self.cursor = at  # where the next mark inside it begins
        self.bytes = in_use


def _node_name(name: str) -> str:
    return "torch::autograd::AccumulateGrad" if name == "AccumulateGrad" else name  # the name that users know


def _node_ranges(trace: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return (time, thread, begins, name, sequence) for each backward node, and for its function inside it."""
    out: list[tuple[Any, ...]] = []
    running: dict[tuple[int, int], dict[str, Any]] = {}
    for record in trace:
        key, event = (record["task"], record["node"]), record["event"]
        if event == "started":
            running[key] = {"start": record, "apply": record["time_ns"], "end": None}
        elif key not in running:
            continue
        elif event in _BEFORE_APPLY:
            running[key]["apply"] = record["time_ns"]
        elif event in _APPLY_ENDS and running[key]["end"] is None:
            running[key]["end"] = record["time_ns"]
        if event == "finished":
            seen = running.pop(key)
            start, name = seen["start"], _node_name(record["name"])
            sequence = -1 if record["name"] == "AccumulateGrad" else record["sequence"]
            thread = record["thread"]
            out.append((start["time_ns"], thread, True, f"autograd::engine::evaluate_function: {name}", sequence))
            out.append((seen["apply"], thread, True, name, sequence))
            out.append((seen["end"], thread, False, "", -1))
            out.append((record["time_ns"], thread, False, "", -1))
    return out


class _Builder:
    def __init__(self, start_ns: int) -> None:
        self.start_ns = start_ns
        self.top: list[FunctionEvent] = []
        self.stacks: dict[int, list[_Open]] = {}
        self.kinds: dict[int, str] = {}  # of finished ranges, by id()
        self.last_bytes: dict[int, int] = {}
        self.last_node_end: dict[int, float] = {}  # on threads where the last event to end was a backward node

    def _us(self, ns: int) -> float:
        return (ns - self.start_ns) / 1e3

    def _place(self, event: FunctionEvent, stack: list[_Open]) -> None:
        if stack:
            stack[-1].event.append_cpu_child(event)
        else:
            self.top.append(event)

    def begin(self, ns: int, thread: int, name: str, kind: str, in_use: int) -> FunctionEvent:
        stack = self.stacks.setdefault(thread, [])
        self.last_node_end.pop(thread, None)
        event = FunctionEvent(name, thread, self._us(ns), self._us(ns))
        event.fwd_thread = 0
        event.is_user_annotation = kind == _USER
        self._place(event, stack)
        self.kinds[id(event)] = kind
        stack.append(_Open(event, kind, event.time_range.start, in_use))
        self.last_bytes[thread] = in_use
        return event

    def end(self, ns: int, thread: int, in_use: int) -> None:
        stack = self.stacks.get(thread)
        if not stack:
            return  # began before the profile
        closed = stack.pop()
        closed.event.time_range.end = self._us(ns)
        closed.event.cpu_memory_usage = in_use - closed.bytes
        self.last_bytes[thread] = in_use
        self.last_node_end.pop(thread, None)
        if stack:
            stack[-1].cursor = closed.event.time_range.end
        elif closed.kind == _NODE:
            self.last_node_end[thread] = closed.event.time_range.end

    def mark(self, ns: int, thread: int, name: str, in_use: int) -> FunctionEvent:
        stack = self.stacks.setdefault(thread, [])
        now = self._us(ns)
        # Between two nodes the engine sums gradients.
        start = stack[-1].cursor if stack else self.last_node_end.get(thread, now)
        event = FunctionEvent(f"aten::{name}", thread, start, now)
        event.fwd_thread = 0
        event.cpu_memory_usage = in_use - self.last_bytes.get(thread, in_use)
        self.last_bytes[thread] = in_use
        self._place(event, stack)
        if stack:
            stack[-1].cursor = now
        elif thread in self.last_node_end:
            self.last_node_end[thread] = now
        return event

    def close_all(self, ns: int) -> None:
        for thread, stack in self.stacks.items():
            while stack:
                self.end(ns, thread, self.last_bytes.get(thread, 0))


def _is_dunder(name: str) -> bool:
    return name.startswith("__")


def _simplified(events: list[FunctionEvent], kinds: dict[int, str]) -> list[FunctionEvent]:
    """Merge calls with the operators they consist of, so that nothing is listed twice.

    A call that is one operator of the same name becomes that operator's event; a protocol method (`__add__`,
    `__getitem__`) is replaced by the operators inside it; calls that compute nothing (`size()`) are left out.
    """
    out: list[FunctionEvent] = []
    work: list[tuple[list[FunctionEvent], list[FunctionEvent], FunctionEvent | None]] = [(events, out, None)]
    while work:
        source, into, parent = work.pop()
        for event in source:
            children = event.cpu_children
            name = event.name
            if kinds.get(id(event)) == _CALL:
                only = children[0] if len(children) == 1 and id(children[0]) not in kinds else None
                if only is not None and (_is_dunder(name) or only.name == f"aten::{name}"):
                    only.time_range = event.time_range
                    only.cpu_memory_usage = event.cpu_memory_usage
                    only.stack = event.stack
                    event, children = only, []
                elif _is_dunder(name) or (not children and name not in _C._ops and not name.endswith("_")):
                    if _is_dunder(name) and children:  # replace the call by its operators
                        for child in children:
                            child.stack = child.stack or event.stack
                        work.append((children, into, parent))
                    continue
                else:
                    event.name = event.trace_name = f"aten::{name}"
            event.cpu_parent = parent
            event.cpu_children = []
            into.append(event)
            if children:
                work.append((children, event.cpu_children, event))
    return out


def _with_allocations(events: list[FunctionEvent]) -> None:
    """Give the operators that create a tensor an event for the allocation of their result, which is not timed separately."""
    for event in events:
        if event.name.removeprefix("aten::") in _CREATORS and not event.cpu_children:
            allocation = FunctionEvent("aten::empty", event.thread, event.time_range.start, event.time_range.start)
            allocation.fwd_thread, allocation.cpu_memory_usage = 0, event.cpu_memory_usage
            event.append_cpu_child(allocation)
        _with_allocations(event.cpu_children)


def _flattened(events: list[FunctionEvent]) -> list[FunctionEvent]:
    """Return all events in order of their start time, and number them."""
    out: list[FunctionEvent] = []
    stack = list(reversed(events))
    while stack:
        event = stack.pop()
        event.cpu_children.sort(key=lambda child: child.time_range.start)
        out.append(event)
        stack.extend(reversed(event.cpu_children))
    out.sort(key=lambda event: (event.time_range.start, -event.time_range.end))
    for number, event in enumerate(out, 1):
        event.id = number
    return out


def _pair(events: list[FunctionEvent], backward: set[int]) -> None:
    """Match each backward node with its forward operation, by sequence number, and store the thread of that operation."""
    forward: dict[int, list[FunctionEvent]] = {}
    for event in events:
        if event.sequence_nr >= 0 and id(event) not in backward:
            forward.setdefault(event.sequence_nr, []).append(event)
    for event in events:
        if id(event) not in backward or event.sequence_nr < 0:
            continue
        # Sequence numbers are per thread: among several candidates the operation's name decides.
        candidates = forward.get(event.sequence_nr, [])
        stem = event.name.rpartition(": ")[2].partition("Backward")[0].lower()
        named = [f for f in candidates if f.name.rpartition("::")[2].replace("_", "").lower().startswith(stem)]
        chosen = (named or candidates)[:1]
        if chosen:
            event.forward_event, event.fwd_thread = chosen[0], chosen[0].thread
            if not event.stack:
                event.stack = chosen[0].stack


def _flops(name: str, shapes: list[list[int]]) -> int | None:
    """Count the operations of matrix products and elementwise arithmetic, as torch does."""
    from math import prod

    op = name.rpartition("::")[2].rstrip("_")
    if op in ("add", "mul", "sub", "div") and shapes:
        return prod(max(shapes, key=prod))
    matrices = [s for s in shapes if len(s) >= 2][-2:]
    if op in ("mm", "addmm", "bmm", "baddbmm", "matmul") and len(matrices) == 2 and matrices[0][-1] == matrices[1][-2]:
        a, b = matrices
        return 2 * prod(a) * b[-1]
    return None


def build(
    records: list[tuple[Any, ...]],
    trace: list[dict[str, Any]],
    start_ns: int,
    stop_ns: int,
    *,
    with_flops: bool,
    profile_memory: bool,
    keep_shapes: bool,
) -> EventList:
    """Build the events of a profile."""
    timeline: list[tuple[int, int, Any]] = [(record[1], 0, record) for record in records]
    timeline += [(node[0], 1, node) for node in _node_ranges(trace)]
    timeline.sort(key=lambda item: item[0])  # stable: events with equal times keep their order
    builder = _Builder(start_ns)
    backward: set[int] = set()
    for _, source, record in timeline:
        if source == 1:
            ns, thread, begins, name, sequence = record
            in_use = builder.last_bytes.get(thread, 0)
            if not begins:
                builder.end(ns, thread, in_use)
                continue
            event = builder.begin(ns, thread, name, _NODE, in_use)
            event.sequence_nr = sequence
            backward.add(id(event))
            continue
        kind, ns, thread, sequence, in_use, name, shapes, stack = record
        if kind == _END:
            builder.end(ns, thread, in_use)
            continue
        if kind == _MARK:
            event = builder.mark(ns, thread, name, in_use)
            event.sequence_nr = sequence
        else:
            which = _KINDS.get(name[:1], _CALL)
            event = builder.begin(ns, thread, name if which == _CALL else name[1:], which, in_use)
            event.stack, event.sequence_nr = stack, sequence
        event.input_shapes = shapes
    builder.close_all(stop_ns)
    tree = _simplified(builder.top, builder.kinds)
    _with_allocations(tree)
    events = _flattened(tree)
    _pair(events, backward)
    for event in events:
        if with_flops:
            event.flops = _flops(event.name, event.input_shapes)
        if not keep_shapes:
            event.input_shapes = []
    return EventList(events, profile_memory, with_flops)
