"""Makes a program that shows a difference as short as possible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tools.fuzz.programs.execute import Program

Check = Callable[[Program], tuple[str, str] | None]


def shrink(program: Program, kind: str, check: Check) -> Program:
    """Removes statements, last first, as long as a difference of the same kind remains."""

    def still_differs(candidate: Program) -> bool:
        try:
            found = check(candidate)
        except NameError:  # a variable that no statement defines any more
            return False
        return found is not None and found[0] == kind

    shorter = True
    while shorter:
        shorter = False
        for i in reversed(range(len(program.lines))):
            candidate = replace(program, lines=program.lines[:i] + program.lines[i + 1 :])
            if still_differs(candidate):
                program, shorter = candidate, True
    return program
