"""torch.autograd.profiler's names: which operations ran, how long, inside which others, and the forward operation of each backward node.

Calls from Python are timed directly. Operators inside one call are separated by the times when they end (see
Note [Profile Marks]); backward nodes come from the engine's trace. A disabled profiler has no cost.
"""

from __future__ import annotations

from undertow import _C
from undertow.autograd._profiler.events import EventList, FunctionEvent, FunctionEventAvg, Interval
from undertow.utils._contextlib import _dressed_as

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any

__all__ = [
    "EventList",
    "FunctionEvent",
    "FunctionEventAvg",
    "Interval",
    "emit_itt",
    "emit_nvtx",
    "profile",
    "record_function",
]


class profile:
    """Context manager that profiles the operations of this thread and of the backward passes it starts.

    `record_shapes` records the shapes of inputs, `profile_memory` the bytes that large tensors allocated, `with_stack`
    the source lines, `with_flops` an estimate for matrix products and arithmetic. Devices other than the CPU are not
    profiled; `with_modules`, `use_kineto`, `experimental_config` and `acc_events` are accepted and have no effect.

    >>> import undertow as ut
    >>> x = ut.ones(2, requires_grad=True)
    >>> with ut.autograd.profiler.profile() as prof:
    ...     (x * 2).sum().backward()
    >>> [event.name for event in prof.function_events if event.name.startswith("aten::")][:2]
    ['aten::mul', 'aten::sum']
    >>> "MulBackward0" in {event.name for event in prof.function_events}
    True
    """

    entered: bool

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: Any = None,
        acc_events: bool = False,
    ) -> None:
        self.enabled = enabled
        self.record_shapes = record_shapes
        self.with_flops = with_flops
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_modules = with_modules
        self.use_cpu = use_cpu
        self.entered = False
        self._events: EventList | None = None
        if enabled and (use_cuda or (use_device is not None and use_device != "cpu")):
            import warnings

            warnings.warn(f"{use_device or 'CUDA'} is not available, disabling its profiling; the CPU is profiled", stacklevel=2)

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        if _C._profiler_enabled():
            raise RuntimeError("Profiler is already enabled on this thread: profiles cannot be nested")
        self.entered = True
        self._events = None
        self._recording = _C._trace_start()
        self._start_ns = _C._profile_start(self.record_shapes or self.with_flops, self.profile_memory, self.with_stack)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not self.enabled:
            return
        stop_ns, records = _C._profile_stop()
        passes = _C._trace_stop(self._recording)
        # The events are built on first access, so that leaving the context is fast.
        self._recorded = (records, passes, self._start_ns, stop_ns)

    @property
    def function_events(self) -> EventList | None:
        """Every event, in order of its start time; None before the end of the block."""
        if self._events is None and hasattr(self, "_recorded"):
            from undertow.autograd._profiler.build import build

            records, passes, start, stop = self._recorded if self.use_cpu else ([], [], 0, 0)
            self._events = build(
                records, passes, start, stop, with_flops=self.with_flops, profile_memory=self.profile_memory, keep_shapes=self.record_shapes
            )
            del self._recorded
        return self._events

    def _finished(self) -> EventList:
        events = self.function_events
        if events is None:
            raise RuntimeError("Profiler didn't finish running: leave its context first")
        return events

    def __repr__(self) -> str:
        return repr(self.function_events) if self.function_events is not None else "<unfinished undertow.autograd.profile>"

    def __str__(self) -> str:
        return str(self.function_events) if self.function_events is not None else "<unfinished undertow.autograd.profile>"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"

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
        """Return a table of all events; see `EventList.table`."""
        return self._finished().table(
            sort_by, row_limit, max_src_column_width, max_name_column_width, max_shapes_column_width, header, top_level_events_only, time_unit
        )

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Group the events by name; see `EventList.key_averages`."""
        return self._finished().key_averages(group_by_input_shape, group_by_stack_n)

    def total_average(self) -> FunctionEventAvg:
        """Return the sum of all events."""
        return self._finished().total_average()

    def export_chrome_trace(self, path: str) -> None:
        """Write the profile for chrome://tracing or ui.perfetto.dev."""
        self._finished().export_chrome_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write folded stacks for flame graphs; needs `with_stack=True`."""
        if not self.with_stack:
            raise ValueError("export_stacks() requires with_stack=True")
        self._finished().export_stacks(path, metric)

    @property
    def self_cpu_time_total(self) -> float:
        """The total time of all events in microseconds; nested events are counted once."""
        return self._finished().self_cpu_time_total


class record_function:
    """Label a part of the program in profiles; a context manager or decorator.

    >>> import undertow as ut
    >>> with ut.autograd.profiler.profile() as prof:
    ...     with ut.autograd.profiler.record_function("forward"):
    ...         y = ut.ones(2) * 2
    >>> prof.function_events[0].name
    'forward'
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self._begun = False

    def __enter__(self) -> record_function:
        self._begun = _C._profile_begin(self.name)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._begun:
            _C._profile_end()
        self._begun = False

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return func(*args, **kwargs)

        return _dressed_as(wrapped, func)


class _Unsupported:
    """A torch context manager that needs a vendor tool which this build does not have."""

    _tool = ""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        if enabled:
            raise RuntimeError(
                f"{type(self).__name__}: this build has no {self._tool}; use undertow.autograd.profiler.profile() and export_chrome_trace()"
            )

    def __enter__(self) -> _Unsupported:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...


class emit_nvtx(_Unsupported):
    """Raises: this build has no NVTX."""

    _tool = "NVTX"


class emit_itt(_Unsupported):
    """Raises: this build has no ITT."""

    _tool = "ITT"
