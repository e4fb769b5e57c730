"""`Timer`: runs a statement many times and measures its time."""

from __future__ import annotations

import enum
import textwrap
import timeit
from time import perf_counter as timer

import undertow
from undertow.utils.benchmark._measurement import Measurement, TaskSpec, set_torch_threads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn


class Language(enum.Enum):
    """The language of a statement; only Python is supported."""

    PYTHON = 0
    CPP = 1


class Timer:
    """Times `stmt` with one thread, or `num_threads`; `globals` are its variables, besides the package itself.

    >>> import undertow as ut
    >>> measured = Timer("x + x", globals={"x": ut.ones(2)}).timeit(10)
    >>> measured.number_per_run, measured.median > 0
    (10, True)
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language not in (Language.PYTHON, "py", "python"):
            raise NotImplementedError("benchmark.Timer: statements in C++ are not planned; build an extension and time its function")
        if global_setup:
            raise ValueError(f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be moved to `setup`.")
        names = dict(globals or {})
        names.setdefault("torch", undertow)
        names.setdefault("undertow", undertow)
        stmt, setup = (textwrap.dedent(code).strip("\n").rstrip() or "pass" for code in (stmt, setup))
        self._globals = names
        self._timer = timeit.Timer(stmt=stmt, setup=setup, timer=timer, globals=names)
        self._task_spec = TaskSpec(stmt, setup, "", label, sub_label, description, env, num_threads)

    def _timeit(self, number: int) -> float:
        return max(self._timer.timeit(number), 1e-9)

    def timeit(self, number: int = 1000000) -> Measurement:
        """Time one run of `number` repetitions, after a short warm-up run."""
        with set_torch_threads(self._task_spec.num_threads):
            self._timeit(max(number // 100, 2))
            return Measurement(number, [self._timeit(number)], self._task_spec)

    def repeat(self, repeat: int = -1, number: int = -1) -> NoReturn:
        """Raise, as in torch."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Callable[[int, float], Any] | None = None) -> NoReturn:
        """Raise, as in torch."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _block_size(self, min_run_time: float) -> int:
        """Return a number of repetitions for which the overhead of the clock is negligible."""
        overhead = min(self._overhead() for _ in range(5))
        number = 1
        while True:
            taken = self._timeit(number)
            if overhead / taken <= 1e-4 and taken >= min_run_time / 1000 or taken > min_run_time:
                return number
            number *= 10

    def _overhead(self) -> float:
        start = timer()
        return timer() - start

    def _blocks(self, number: int, enough: Callable[[list[float]], bool], limit: float, callback: Callable[[int, float], Any] | None) -> Measurement:
        times: list[float] = []
        total = 0.0
        while not times or (total < limit and not enough(times)):
            taken = self._timeit(number)
            times.append(taken)
            total += taken
            if callback is not None:
                callback(number, taken)
        return Measurement(number, times, self._task_spec)

    def blocked_autorange(self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2) -> Measurement:
        """Time blocks of repetitions, large enough for the clock, for at least `min_run_time` seconds in total."""
        with set_torch_threads(self._task_spec.num_threads):
            return self._blocks(self._block_size(min_run_time), lambda times: False, min_run_time, callback)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """Time blocks until the interquartile range is below `threshold` of the median, for at most `max_run_time` seconds."""

        def enough(times: list[float]) -> bool:
            return len(times) > 3 and sum(times) >= min_run_time and Measurement(number, times, self._task_spec).meets_confidence(threshold)

        with set_torch_threads(self._task_spec.num_threads):
            number = self._block_size(0.05)
            return self._blocks(number, enough, max_run_time, callback)

    def collect_callgrind(self, number: int = 100, **options: Any) -> NoReturn:
        """Raise: run the program under valgrind instead."""
        raise NotImplementedError("benchmark.Timer.collect_callgrind is not planned; run the program under valgrind --tool=callgrind")
