"""Tables of measurements: one table per label, one row per task, one column per description."""

from __future__ import annotations

import enum
import math

from undertow.utils.benchmark._measurement import Measurement, ordered_unique, select_unit, trim_sigfig, unit_to_english

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_BEST, _GOOD, _BAD, _END = "\033[92m\033[1m", "\033[32m", "\033[31m", "\033[0m"


class Colorize(enum.Enum):
    """Whether the best time is highlighted per column or per row."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """A table of measurements; measurements of the same task are merged.

    >>> from undertow.utils.benchmark import Measurement, TaskSpec
    >>> def measured(size, time):
    ...     return Measurement(1, [time], TaskSpec("f(x)", "pass", label="sizes", sub_label=size, description="ours"))
    >>> Compare([measured("small", 2e-6), measured("large", 9e-6)]).print()
    [----- sizes ------]
                 |  ours
    1 threads: ---------
          small  |  2.0
          large  |  9.0
    <BLANKLINE>
    Times are in microseconds (us).
    <BLANKLINE>
    """

    def __init__(self, results: list[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim = False
        self._warn = False
        self._colors = Colorize.NONE

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements."""
        for result in results:
            if not isinstance(result, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(result)} instead.")
            self._results.append(result)

    def trim_significant_figures(self) -> None:
        """Show only the significant digits, given the spread of the times."""
        self._trim = True

    def highlight_warnings(self) -> None:
        """Mark times with a large spread."""
        self._warn = True

    def colorize(self, rowwise: bool = False) -> None:
        """Highlight the best times of each column, or row."""
        self._colors = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def print(self) -> None:
        """Print the tables."""
        print(self)

    def __str__(self) -> str:
        merged = Measurement.merge(self._results)
        return "\n".join(self._table([m for m in merged if m.label == label]) for label in ordered_unique(m.label for m in merged))

    def _cell(self, m: Measurement, size: float) -> str:
        value, digits = m.median / size, 1
        if self._trim:
            value = trim_sigfig(value, m.significant_figures)
            digits = max(m.significant_figures - math.floor(math.log10(value)) - 1, 0)
        spread = f" (! {100 * m.iqr / m.median:.0f}%)" if self._warn and m.has_warnings else ""
        return f"{value:.{digits}f}{spread}"

    def _table(self, rows: list[Measurement]) -> str:
        unit, size = select_unit(min(m.median for m in rows))
        columns = ordered_unique(m.description for m in rows)
        keys = ordered_unique((m.num_threads, m.env, m.as_row_name) for m in sorted(rows, key=lambda m: m.num_threads))
        cells = {((m.num_threads, m.env, m.as_row_name), m.description): m for m in rows}
        envs = len({m.env for m in rows}) > 1
        names = {key: (f"({key[1]})  " if envs else "") + key[2] for key in keys}
        texts = {at: self._cell(m, size) for at, m in cells.items()}
        numbers = [max(len(texts.get((k, c), "")) for k in keys) for c in columns]
        widths = [max(len(c or ""), n) for c, n in zip(columns, numbers, strict=True)]
        first = max(len(n) for n in names.values()) + 8
        width = first + sum(widths) + 5 * len(widths) - 2
        title = f" {rows[0].label or rows[0].stmt} "
        header = " " * first + "|  " + "  |  ".join((c or "").center(w) for c, w in zip(columns, widths, strict=True))
        lines = [f"[{title:-^{max(width - 2, len(title))}}]", header.rstrip()]
        threads = None
        for key in keys:
            if key[0] != threads:
                threads = key[0]
                lines.append(f"{threads} threads: ".ljust(width, "-"))
            parts = [texts.get((key, c), "").rjust(n).center(w) for c, n, w in zip(columns, numbers, widths, strict=True)]
            parts = [self._colored(part, cells, key, c, columns, keys) for part, c in zip(parts, columns, strict=True)]
            lines.append((f"      {names[key]}".ljust(first) + "|  " + "  |  ".join(parts)).rstrip())
        return "\n".join([*lines, "", f"Times are in {unit_to_english(unit)}s ({unit}).", ""])

    def _colored(self, part: str, cells: dict, key: tuple, column: str | None, columns: list, keys: list) -> str:
        if self._colors is Colorize.NONE or (key, column) not in cells:
            return part
        rivals = [(key, c) for c in columns] if self._colors is Colorize.ROWWISE else [(k, column) for k in keys if k[0] == key[0]]
        best = min(cells[at].median for at in rivals if at in cells)
        ratio = cells[(key, column)].median / best
        color = _BEST if ratio <= 1 else _GOOD if ratio <= 1.25 else _BAD if ratio > 2 else ""
        return f"{color}{part}{_END}" if color else part
