"""`torch._C._profiler`: stack traces that tools keep with the operators they note."""

from __future__ import annotations

import sys
import traceback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["gather_traceback", "symbolize_tracebacks"]


def gather_traceback(python: bool = True, script: bool = True, cpp: bool = True) -> Any:
    """Return the stack of Python functions, innermost first."""
    return traceback.StackSummary.extract(traceback.walk_stack(sys._getframe(1)), lookup_lines=False) if python else []


def symbolize_tracebacks(tracebacks: list[Any]) -> list[list[dict[str, Any]]]:
    """Return the file, the line and the name of every function of these stacks."""
    return [[{"filename": f.filename, "line": f.lineno, "name": f.name} for f in stack] for stack in tracebacks]
