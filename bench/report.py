"""Formats figures: units, ratios, a table for the terminal and for RESULTS.md."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, field


def seconds(s: float | str | None) -> str:
    if s is None:
        return "-"
    if isinstance(s, str):
        return "failed"
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if s >= size:
            return f"{s / size:.3g} {unit}"
    return f"{s / 1e-9:.1f} ns"


def size(b: float | str | None) -> str:
    if b is None:
        return "-"
    if isinstance(b, str):
        return "failed"
    return f"{b / 1e6:.1f} MB" if b >= 1e6 else f"{b:.0f} B"


@dataclass
class Row:
    name: str
    ours: float | str | None
    torch: float | str | None = None
    numpy: float | str | None = None
    target: float | None = None  # a minimum ratio or, with `at_most`, a maximum of our value
    at_most: bool = False
    show: object = seconds

    @property
    def ratio(self) -> float | None:
        if isinstance(self.ours, float) and isinstance(self.torch, float) and self.ours > 0:
            return self.torch / self.ours
        return None

    @property
    def verdict(self) -> str:
        if self.target is None:
            return ""
        value = self.ours if self.at_most else self.ratio
        if not isinstance(value, float):
            return "not measured"
        return "met" if (value <= self.target if self.at_most else value >= self.target) else "NOT MET"

    def cells(self) -> list[str]:
        want = "" if self.target is None else f"<= {self.show(self.target)}" if self.at_most else f"{self.target:g}"
        ratio = "" if self.ratio is None else f"{self.ratio:.1f}"
        return [self.name, self.show(self.ours), self.show(self.torch), self.show(self.numpy), ratio, want, self.verdict]


@dataclass
class Report:
    rows: list[Row] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    HEAD = ["", "undertow", "torch", "numpy", "torch/ours", "target", ""]

    def table(self) -> str:
        cells = [self.HEAD] + [r.cells() for r in self.rows]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.HEAD))]
        lines = ["  ".join(c.ljust(w) if i in (0, 6) else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))).rstrip() for row in cells]
        return "\n".join([lines[0], "-" * sum(widths), *lines[1:]])

    def failures(self) -> list[str]:
        out = []
        for r in self.rows:
            for who in ("ours", "torch", "numpy"):
                value = getattr(r, who)
                if isinstance(value, str):
                    out.append(f"{r.name} ({who}): {value}")
        return out

    def markdown(self, machine: str) -> str:
        cells = [r.cells() for r in self.rows]
        table = ["| " + " | ".join(h or " " for h in self.HEAD) + " |", "|" + "---|" * len(self.HEAD)]
        table += ["| " + " | ".join(row) + " |" for row in cells]
        remarks = "\n".join(f"- {r}" for r in self.remarks)
        return f"# Results\n\nWritten by `python -m bench --write`. {machine}\n\n" + "\n".join(table) + "\n\n" + remarks + "\n"


def cpu_name() -> str:
    try:
        with open("/proc/cpuinfo") as f:
            for line in f:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def describe_machine(versions: dict[str, str]) -> str:
    libraries = ", ".join(f"{k} {v}" for k, v in versions.items())
    return (f"{cpu_name()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}, Python {platform.python_version()}, {libraries}; "
            f"load at the start {os.getloadavg()[0]:.1f}.")
