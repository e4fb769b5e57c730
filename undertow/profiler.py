"""The interface of torch.profiler: profiles with a schedule over steps, built on `undertow.autograd.profiler`."""

from __future__ import annotations

from enum import Enum

from undertow._lazy import explain_missing as _explain_missing
from undertow.autograd.profiler import profile as _profile
from undertow.autograd.profiler import record_function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType
    from typing import Any

    from undertow.autograd._profiler.events import EventList

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


class ProfilerActivity(Enum):
    """Activities to profile; only the CPU is supported."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(Enum):
    """The action of a schedule for a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def kineto_available() -> bool:
    """Return True: `profile` with schedules is supported, which is what programs check with this."""
    return True


def supported_activities() -> set[ProfilerActivity]:
    """Return the activities that this build can profile.

    >>> import undertow as ut
    >>> [activity.name for activity in ut.profiler.supported_activities()]
    ['CPU']
    """
    return {ProfilerActivity.CPU}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """Return a schedule: skip some steps, then repeat cycles of wait, warm-up and recording. `repeat=0` repeats without end.

    >>> import undertow as ut
    >>> plan = ut.profiler.schedule(wait=1, warmup=1, active=2)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first, skip_first_wait) < 0 or active <= 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments: wait={wait}, warmup={warmup}, active={active}, repeat={repeat}, skip_first={skip_first}; "
            "active must be positive, the others must not be negative"
        )
    length = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative, got {step}")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:  # the first cycle does not wait
            step += wait
        if repeat > 0 and step // length >= repeat:
            return ProfilerAction.NONE
        at = step % length
        if at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False) -> Callable[[profile], None]:
    """Return a function for `on_trace_ready` that writes each trace to `dir_name`, where TensorBoard's plugin finds it."""
    import os
    import socket
    import time

    def handler(prof: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' if use_gzip else ''}"
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return handler


class profile:
    """Context manager that profiles a block, or some of its steps by a `schedule`; call `step()` after each step.

    `on_trace_ready(prof)` is called whenever a cycle of the schedule ends, and at the end of the block if recording is
    active. `key_averages()`, `events()` and the exports refer to the last cycle.

    >>> import undertow as ut
    >>> seen = []
    >>> plan = ut.profiler.schedule(wait=1, warmup=0, active=1, repeat=1)
    >>> with ut.profiler.profile(schedule=plan, on_trace_ready=lambda p: seen.append(p.step_num)) as prof:
    ...     for _ in range(4):
    ...         _ = ut.ones(2) * 2
    ...         prof.step()
    >>> seen
    [2]
    """

    activities: set[ProfilerActivity]
    step_num: int
    record_steps: bool
    current_action: ProfilerAction
    schedule: Callable[[int], ProfilerAction]

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
    ) -> None:
        self.activities = set(activities) if activities is not None else supported_activities()
        if not self.activities:
            raise AssertionError("No valid profiler activities found")
        unknown = [a for a in self.activities if not isinstance(a, ProfilerActivity)]
        if unknown:
            raise TypeError(f"activities should be ProfilerActivity members, got {unknown[0]!r}")
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.record_steps = schedule is not None
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.current_action = self.schedule(0)
        self.profiler: _profile | None = None
        self._recording = False
        self._step_range: record_function | None = None
        self._options = {
            "record_shapes": record_shapes,
            "profile_memory": profile_memory,
            "with_stack": with_stack,
            "with_flops": with_flops,
            "use_cpu": ProfilerActivity.CPU in self.activities,
        }

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def start(self) -> None:
        """Start with the schedule's first step."""
        self._follow()

    def stop(self) -> None:
        """Stop; if a trace is being recorded, it is then ready."""
        self._end_step()
        if self._recording:
            self._save()

    def step(self) -> None:
        """Mark the end of a step and the start of the next one."""
        self._end_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        if self._recording and before is ProfilerAction.RECORD_AND_SAVE:
            self._save()
        elif self._recording and self.current_action not in _RECORDING:
            import warnings

            warnings.warn("Incorrect schedule: RECORD followed by NONE; the recorded data is dropped", stacklevel=2)
            self._stop_recording()
        self._follow()

    def _follow(self) -> None:
        if self.current_action in _RECORDING and not self._recording:
            self.profiler = _profile(**self._options)  # type: ignore[arg-type]  # by name
            self.profiler.__enter__()
            self._recording = True
        if self._recording and self.record_steps:
            self._step_range = record_function(f"ProfilerStep#{self.step_num}")
            self._step_range.__enter__()

    def _end_step(self) -> None:
        if self._step_range is not None:
            self._step_range.__exit__(None, None, None)
            self._step_range = None

    def _stop_recording(self) -> None:
        assert self.profiler is not None
        self.profiler.__exit__(None, None, None)
        self._recording = False

    def _save(self) -> None:
        self._stop_recording()
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def _last(self) -> _profile:
        if self.profiler is None:
            raise AssertionError("Profiler must be initialized: nothing has been recorded yet")
        return self.profiler

    def events(self) -> EventList:
        """Return all events of the last cycle."""
        return self._last()._finished()

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False) -> EventList:
        """Group the events of the last cycle by name."""
        return self._last().key_averages(group_by_input_shape, group_by_stack_n)

    def export_chrome_trace(self, path: str) -> None:
        """Write the last cycle for chrome://tracing or ui.perfetto.dev."""
        self._last().export_chrome_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write the last cycle's folded stacks; needs `with_stack=True`."""
        self._last().export_stacks(path, metric)

if not TYPE_CHECKING:  # a type checker that saw it would accept every name
    __getattr__ = _explain_missing(__name__)
