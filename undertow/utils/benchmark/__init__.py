"""Timing of statements, like `torch.utils.benchmark`: repeated runs, medians, and tables that compare measurements."""

from undertow.utils.benchmark._compare import Colorize, Compare
from undertow.utils.benchmark._measurement import Measurement, TaskSpec, ordered_unique, select_unit, set_torch_threads, trim_sigfig, unit_to_english
from undertow.utils.benchmark._timer import Language, Timer, timer

__all__ = [
    "Colorize",
    "Compare",
    "Language",
    "Measurement",
    "TaskSpec",
    "Timer",
    "ordered_unique",
    "select_unit",
    "set_torch_threads",
    "timer",
    "trim_sigfig",
    "unit_to_english",
]
