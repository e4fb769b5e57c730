"""The measurement of one statement: the times, their median and spread, and warnings."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import statistics

import undertow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

_UNITS = {"ns": ("nanosecond", 1e-9), "us": ("microsecond", 1e-6), "ms": ("millisecond", 1e-3), "s": ("second", 1.0)}
_WARN_SPREAD = 0.1  # of the median
_LEAST_ERROR = 25e-9  # of any clock
_WARN_TIME = 1e-6  # shorter runs are dominated by the clock's resolution


def select_unit(t: float) -> tuple[str, float]:
    """Return a suitable unit for a time in seconds, and the length of the unit in seconds.

    >>> select_unit(2e-5)
    ('us', 1e-06)
    """
    found = max((u for u in _UNITS if t >= _UNITS[u][1]), key=lambda u: _UNITS[u][1], default="ns")
    return found, _UNITS[found][1]


def unit_to_english(u: str) -> str:
    """Return the full name of a unit."""
    return _UNITS[u][0]


def trim_sigfig(x: float, n: int) -> float:
    """Round `x` to n significant digits."""
    if x == 0:
        return 0.0
    scale = 10.0 ** (math.ceil(math.log10(abs(x))) - n)
    return round(x / scale) * scale


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    """Return the unique elements in order of first occurrence."""
    return list(dict.fromkeys(elements))


@contextlib.contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """Context manager that sets the number of threads."""
    before = undertow.get_num_threads()
    try:
        undertow.set_num_threads(n)
        yield
    finally:
        undertow.set_num_threads(before)


@dataclasses.dataclass(frozen=True)
class TaskSpec:
    """The statement to time, and its labels in tables."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The labels, or the statement itself."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        if "\n" not in self.stmt:
            return self.stmt + (f": {self.sub_label}" if self.sub_label else "")
        return "stmt:" + (f" ({self.sub_label})" if self.sub_label else "") + "\n" + "\n".join(f"  {line}" for line in self.stmt.splitlines())

    @property
    def setup_str(self) -> str:
        """Return the setup code for a summary."""
        if not self.setup or self.setup == "pass":
            return ""
        return "setup:\n" + "\n".join(f"  {line}" for line in self.setup.splitlines()) if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """Return title, description and setup, one line each."""
        return "\n".join(part for part in (self.title, self.description or "", self.setup_str) if part)


def _quantile(times: list[float], q: float) -> float:
    at = q * (len(times) - 1)
    low = math.floor(at)
    return times[low] + (times[min(low + 1, len(times) - 1)] - times[low]) * (at - low)


@dataclasses.dataclass
class Measurement:
    """The times of runs of `number_per_run` repetitions.

    >>> Measurement(2, [2.0, 4.0, 6.0], TaskSpec("x + y", "pass")).median
    2.0
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name != "task_spec" and name in TaskSpec.__dataclass_fields__ or name in ("title", "setup_str", "summarize"):
            return getattr(self.task_spec, name)
        raise AttributeError(f"'Measurement' object has no attribute {name!r}")

    @property
    def times(self) -> list[float]:
        """The time per repetition of each run, in seconds."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def mean(self) -> float:
        """The mean of the times."""
        return statistics.fmean(self.times)

    @property
    def median(self) -> float:
        """The median of the times."""
        return statistics.median(self.times)

    @property
    def iqr(self) -> float:
        """The interquartile range."""
        times = sorted(self.times)
        return _quantile(times, 0.75) - _quantile(times, 0.25)

    @property
    def significant_figures(self) -> int:
        """The number of significant digits of the median, estimated from the interquartile range with 90% confidence."""
        times = sorted(self.times)
        middle = times[len(times) // 4 : math.ceil(len(times) * 3 / 4)]
        error = max(1.645 * statistics.pstdev(middle) / math.sqrt(len(middle)), _LEAST_ERROR)
        return max(min(math.floor(-math.log10(error / self.median)), 4), 1)

    @property
    def has_warnings(self) -> bool:
        """Whether the spread is large or the runs are short."""
        return bool(self._warnings())

    def _warnings(self) -> list[str]:
        if len(self.raw_times) < 2:
            return []
        found, share = [], self.iqr / self.median if self.median else 0.0
        if not self.meets_confidence():
            found.append(f"WARNING: Interquartile range is {share * 100:.1f}% of the median measurement.")
            found.append("         This suggests significant environmental influence.")
        if statistics.median(self.raw_times) < _WARN_TIME:
            found.append(f"WARNING: each run took less than {_WARN_TIME * 1e6:.0f} us, which is close to the clock's resolution.")
        return found

    def meets_confidence(self, threshold: float = _WARN_SPREAD) -> bool:
        """Return True if the interquartile range is below this fraction of the median."""
        return self.iqr / self.median < threshold

    @property
    def as_row_name(self) -> str:
        """The name of the row in a table."""
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    def __repr__(self) -> str:
        unit, size = select_unit(self.median)
        runs = len(self.raw_times)
        several = runs > 1
        lines = [f"<undertow.utils.benchmark.Measurement object at {id(self):#x}>", self.task_spec.summarize()]
        lines.append(f"  {'Median: ' if several else ''}{self.median / size:.2f} {unit}")
        if runs >= 4:
            times = sorted(self.times)
            low, high = _quantile(times, 0.25), _quantile(times, 0.75)
            lines.append(f"  IQR:    {self.iqr / size:.2f} {unit} ({low / size:.2f} to {high / size:.2f})")
        threads = f"{self.task_spec.num_threads} thread{'s' if self.task_spec.num_threads > 1 else ''}"
        lines.append(f"  {runs} measurement{'s' if several else ''}, {self.number_per_run} runs {'per measurement' if several else ''}, {threads}")
        return "\n".join(lines + [f"  {line}" for line in self._warnings()])

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Merge measurements of the same task."""
        tasks: dict[TaskSpec, list[float]] = {}
        for m in measurements:
            tasks.setdefault(m.task_spec, []).extend(m.times)
        return [Measurement(1, times, task) for task, times in tasks.items()]
