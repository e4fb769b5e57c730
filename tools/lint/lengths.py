"""One idea per file: about 500 lines, and at most 40 lines in a README. Reports files that are more than half as long again."""
from __future__ import annotations

from pathlib import Path

from .files import text

ABOUT, LIMIT, README_LIMIT = 500, 750, 40
GOLDEN = {"tests/cpp/random_golden.h"}  # data


def check(files: list[Path]) -> list[str]:
    out, long = [], []
    for path in files:
        lines = text(path).count("\n") if path.suffix in (".h", ".cpp", ".py", ".md") else 0
        if path.name == "README.md" and len(path.parts) > 1 and lines > README_LIMIT:
            out.append(f"{path}: {lines} lines; a folder's README has at most {README_LIMIT}")
        if path.suffix == ".md" or str(path) in GOLDEN:
            continue
        if lines > LIMIT:
            out.append(f"{path}: {lines} lines; split it (about {ABOUT}, never more than {LIMIT})")
        elif lines > ABOUT:
            long.append(f"{path} ({lines})")
    if long:
        print(f"longer than {ABOUT} lines: {', '.join(long)}")
    return out
