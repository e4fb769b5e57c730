"""Makes a program that shows a difference as short as possible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tools.fuzz.programs.execute import Program

Check = Callable[[Program], tuple[str, str] | None]


def shrink(program: Program, kind: str, check: Check) -> Program:
    """Removes statements, the last ones first, as long as a difference of the same kind remains."""

    def still_differs(candidate: Program) -> bool:
        try:
            found = check(candidate)
        except NameError:  # a variable that no statement defines any more
            return False
        return found is not None and found[0] == kind

    # Halves first, then ever smaller parts: most programs lose most of their statements in a few checks.
    size = max(1, len(program.lines) // 2)
    while True:
        before = len(program.lines)
        for start in reversed(range(0, before, size)):
            candidate = replace(program, lines=program.lines[:start] + program.lines[start + size :])
            if still_differs(candidate):
                program = candidate
        if size == 1 and len(program.lines) == before:
            return program
        size = max(1, size // 2)
