"""The last line of a test run: how many tests were skipped, why, and how to run them."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

# A word of the skip reason, how those tests are described, and how to run them. The first match counts.
KINDS = [
    (r"tensorboard|pillow|PIL", "that need{s} tensorboard", "pip install tensorboard pillow"),
    (r"(?i)torch|expecttest", "that compare{s} with PyTorch", "make parity-deps, or pip install {torch} expecttest"),
    (r"needs MPI", "of several processes", "pip install mpi4py mpich"),
    (r"Chromium|Playwright", "of the page in a browser", "make browser-deps, and install chromium"),
    (r"source tree", "of an installed package", "make test"),
    (r"scipy|numpy", "that need{s} SciPy", "pip install scipy"),
    (r"on PATH", "that need{s} cmake or another compiler", "install them"),
]


def torch_requirement(root: Path) -> str:
    """The PyTorch that the parity tests are written for, as the Makefile names it."""
    found = re.search(r"^TORCH\s*:=\s*(\S+)", (root / "Makefile").read_text(), re.M)
    return found[1] if found else "torch"


def functions(report, root: Path) -> set[str]:
    """The test functions that a report stands for: one, or all of a file that skips as a whole."""
    name = report.nodeid.partition("[")[0]
    if report.__class__.__name__ != "CollectReport":
        return {name}
    path = root / name if (root / name).is_file() else None
    if path is None:
        return {name}
    inside = ast.walk(ast.parse(path.read_text()))
    return {f"{name}::{f.name}" for f in inside if isinstance(f, ast.FunctionDef) and f.name.startswith("test")} or {name}


def reason(report) -> str:
    told = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return told.removeprefix("Skipped: ")


def sentence(reports, root: Path) -> str:
    """"" where nothing was skipped."""
    groups: dict[tuple[str, str], set[str]] = defaultdict(set)
    for report in reports:
        why = reason(report)
        said, how = next(((said, how) for pattern, said, how in KINDS if re.search(pattern, why)), (f"({why})", ""))
        groups[said, how] |= functions(report, root)
    told = []
    for (said, how), names in sorted(groups.items(), key=lambda item: -len(item[1])):
        many = f"{len(names)} test function{'s' * (len(names) > 1)} {said.format(s='s' * (len(names) == 1)) if how else said}"
        told.append(f"{many} ({how.format(torch=torch_requirement(root))})" if how else many)
    return "skipped: " + "; ".join(told) if told else ""
