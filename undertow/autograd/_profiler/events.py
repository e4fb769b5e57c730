"""The parts of a profile: events, their averages, and the lists that print and export them.

Times are in microseconds from the profile's start. `build.py` creates the events.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any


class Interval:
    """A time interval."""

    end: float
    start: float
    __slots__ = ("end", "start")

    def __init__(self, start: float, end: float) -> None:
        self.start = start
        self.end = end

    def elapsed_us(self) -> float:
        """The length of the interval."""
        return self.end - self.start

    def __repr__(self) -> str:
        return f"Interval({self.start:.3f}, {self.end:.3f})"


def _time(us: float) -> str:
    if us >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


def _memory(n: int) -> str:
    for unit, size in (("Gb", 1 << 30), ("Mb", 1 << 20), ("Kb", 1 << 10)):
        if abs(n) >= size:
            return f"{n / size:.2f} {unit}"
    return f"{n} b"


class _Times:
    """Attributes that events and averages share. The only device is the CPU: the times of other devices are zero."""

    cuda_time = cuda_time_total = self_cuda_time_total = 0
    device_time = device_time_total = self_device_time_total = 0
    cuda_memory_usage = self_cuda_memory_usage = device_memory_usage = self_device_memory_usage = 0

    count: int
    cpu_time_total: float
    self_cpu_time_total: float

    @property
    def cpu_time_str(self) -> str:
        """`cpu_time` as a string with a unit."""
        return _time(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        """`cpu_time_total` as a string with a unit."""
        return _time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        """`self_cpu_time_total` as a string with a unit."""
        return _time(self.self_cpu_time_total)

    @property
    def cpu_time(self) -> float:
        """The average time of one call."""
        return self.cpu_time_total / self.count if self.count else 0.0


class FunctionEvent(_Times):
    """One operation, backward node or user range, with the events inside it."""

    trace_name: str
    time_range: Interval

    def __init__(self, name: str, thread: int, start: float, end: float) -> None:
        self.id = -1
        self.name = self.trace_name = name
        self.thread = thread
        self.fwd_thread: int | None = None
        self.time_range = Interval(start, end)
        self.count = 1
        self.sequence_nr = -1
        self.input_shapes: list[list[int]] = []
        self.stack: list[str] = []
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_memory_usage = 0
        self.flops: int | None = None
        self.is_async = False
        self.is_remote = False
        self.is_user_annotation = False
        self.is_legacy = False
        self.node_id = -1
        self.scope = 0
        #: For a backward node: the event of the forward operation that recorded it, if that was profiled too.
        self.forward_event: FunctionEvent | None = None

    @property
    def key(self) -> str:
        """The name, by which events are grouped for averages."""
        return self.name

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]  # computed here
        """The time from start to end."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]  # computed here
        """The time without the events inside."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def self_cpu_time(self) -> float:
        """The same as `self_cpu_time_total`."""
        return self.self_cpu_time_total

    @property
    def self_cpu_memory_usage(self) -> int:
        """Bytes allocated minus bytes freed, without the events inside."""
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Add `child` as an event that ran inside this one."""
        self.cpu_children.append(child)
        child.cpu_parent = self

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_str} start_us={self.time_range.start:.3f} "
            f"end_us={self.time_range.end:.3f} cpu_children={[c.id for c in self.cpu_children]} thread={self.thread} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} is_async={self.is_async} seq_nr={self.sequence_nr}>"
        )


class FunctionEventAvg(_Times):
    """The sum of the events with one key."""

    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    cpu_memory_usage: int
    self_cpu_memory_usage: int
    flops: int
    is_user_annotation: bool

    def __init__(self, key: str = "") -> None:
        self.key = key
        self.count = 0
        self.cpu_time_total = 0.0
        self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = 0
        self.self_cpu_memory_usage = 0
        self.flops = 0
        self.input_shapes: list[list[int]] | None = None
        self.stack: list[str] | None = None
        self.is_async = False
        self.is_remote = False
        self.is_user_annotation = False
        self.is_legacy = False
        self.node_id = -1
        self.scope = 0
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None

    def add(self, event: FunctionEvent) -> FunctionEventAvg:
        """Add `event` to the sums."""
        if self.count == 0:
            self.input_shapes, self.stack = event.input_shapes, event.stack
            self.is_user_annotation, self.cpu_parent = event.is_user_annotation, event.cpu_parent
        self.count += event.count
        self.cpu_time_total += event.cpu_time_total
        self.self_cpu_time_total += event.self_cpu_time_total
        self.cpu_memory_usage += event.cpu_memory_usage
        self.self_cpu_memory_usage += event.self_cpu_memory_usage
        self.flops += event.flops or 0
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} cpu_time={self.cpu_time_str} count={self.count} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage}>"
        )


class EventList(list["Any"]):
    """A list of events or averages that can be printed, summed and exported."""

    _METRICS = ("self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total", "self_privateuse1_time_total")

    def __init__(self, items: Iterable[Any] = (), profile_memory: bool = False, with_flops: bool = False) -> None:
        super().__init__(items)
        self._profile_memory = profile_memory
        self._with_flops = with_flops

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(self.table())}</pre>"

    @property
    def self_cpu_time_total(self) -> float:
        """The total time of all events; nested events are counted once."""
        return sum(event.self_cpu_time_total for event in self)

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """Format the rows as a table, largest `sort_by` first: cpu_time_total, self_cpu_time_total, count, ..."""
        return _table(
            self, sort_by, row_limit, max_src_column_width, max_name_column_width, max_shapes_column_width, header, top_level_events_only, time_unit
        )

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Group the events by name, optionally also by input shapes or by the innermost lines of their stacks."""
        groups: dict[tuple[str, ...], FunctionEventAvg] = {}
        for event in self:
            key = (event.key, str(event.input_shapes) if group_by_input_shape else "", *event.stack[:group_by_stack_n])
            groups.setdefault(key, FunctionEventAvg(event.key)).add(event)
        for average in groups.values():
            if not group_by_input_shape:
                average.input_shapes = None
            average.stack = average.stack[:group_by_stack_n] if average.stack and group_by_stack_n else None
        return EventList(groups.values(), self._profile_memory, self._with_flops)

    def total_average(self) -> FunctionEventAvg:
        """Return the sum of all events."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event)
            total.key = "Total"
        return total

    def export_chrome_trace(self, path: str) -> None:
        """Write the events for chrome://tracing or ui.perfetto.dev; a path that ends in .gz is compressed."""
        from undertow.autograd._profiler.export import chrome_trace

        chrome_trace(self, path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write one line for each stack, for flame graphs: frames from the outermost, and the metric's sum."""
        if metric not in self._METRICS:
            raise ValueError(f"metric should be one of: {list(self._METRICS)}, got {metric!r}")
        from undertow.autograd._profiler.export import stacks

        stacks(self, path, metric)

    def supported_export_stacks_metrics(self) -> list[str]:
        """Return the metrics that `export_stacks` supports."""
        return list(self._METRICS)


def _cut(text: str, width: int | None, front: bool = False) -> str:
    if not width or len(text) <= width:
        return text
    return "..." + text[len(text) - width + 3 :] if front else text[: width - 3] + "..."


def _in_unit(us: float, unit: str | None) -> str:
    if unit is None:
        return _time(us)
    scale = {"us": 1.0, "ms": 1e3, "s": 1e6}
    if unit not in scale:
        raise ValueError(f"time_unit should be one of {sorted(scale)}, got {unit!r}")
    return f"{us / scale[unit]:.3f}{unit}"


def _table(
    events: EventList,
    sort_by: str | None,
    row_limit: int,
    src_width: int,
    name_width: int,
    shapes_width: int,
    header: str | None,
    top_only: bool,
    unit: str | None,
) -> str:
    if not events:
        return ""
    rows = list(events)
    if sort_by is not None:
        if not hasattr(rows[0], sort_by):
            raise AttributeError(f"sort_by={sort_by!r} is not an attribute of events; try cpu_time_total, self_cpu_time_total or count")
        rows.sort(key=lambda event: getattr(event, sort_by), reverse=True)
    total = events.self_cpu_time_total

    def share(us: float) -> str:
        return f"{100 * us / total:.2f}%" if total else "NaN"

    columns: list[tuple[str, Callable[[Any], str]]] = [
        ("Name", lambda e: _cut(e.key, name_width)),
        ("Self CPU %", lambda e: share(e.self_cpu_time_total)),
        ("Self CPU", lambda e: _in_unit(e.self_cpu_time_total, unit)),
        ("CPU total %", lambda e: share(e.cpu_time_total)),
        ("CPU total", lambda e: _in_unit(e.cpu_time_total, unit)),
        ("CPU time avg", lambda e: _in_unit(e.cpu_time, unit)),
    ]
    if events._profile_memory:
        columns += [("CPU Mem", lambda e: _memory(e.cpu_memory_usage)), ("Self CPU Mem", lambda e: _memory(e.self_cpu_memory_usage))]
    columns.append(("# of Calls", lambda e: str(e.count)))
    if any(e.input_shapes for e in rows):
        columns.append(("Input Shapes", lambda e: _cut(str(e.input_shapes or []), shapes_width)))
    if any(e.stack for e in rows):
        columns.append(("Source Location", lambda e: _cut((e.stack or [""])[0], src_width, front=True)))
    if events._with_flops:
        columns.append(("Total FLOPs", lambda e: str(e.flops or "--")))
    if top_only:
        rows = [e for e in rows if e.cpu_parent is None]
    body = [[make(event) for _, make in columns] for event in (rows[:row_limit] if row_limit >= 0 else rows)]
    widths = [max(len(title), *(len(line[k]) for line in body)) if body else len(title) for k, (title, _) in enumerate(columns)]
    rule = "  ".join("-" * w for w in widths)
    lines = [rule, "  ".join(t.rjust(w) for (t, _), w in zip(columns, widths, strict=True)), rule]
    lines += ["  ".join(c.rjust(w) for c, w in zip(line, widths, strict=True)) for line in body]
    lines += [rule, f"Self CPU time total: {_in_unit(total, unit)}", ""]
    return "\n".join(([header] if header else []) + lines)
