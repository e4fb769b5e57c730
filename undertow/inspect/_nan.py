"""`nan_birth`: finds the first operation, forward or backward, that makes a NaN or an Inf."""

from __future__ import annotations

import sys
import threading
import warnings

from undertow import _C
from undertow.autograd._diagnostics.places import shown_line
from undertow.inspect._statistics import statistics

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any

    from undertow import Tensor
    from undertow.autograd._node import Node

_line_users = threading.local()  # count: the open blocks of this thread; before: whether lines were recorded before the first


def _user_line() -> tuple[str | None, int]:
    """Return the innermost line outside the package, as file:line, and how many calls it lies above the caller; (None, 1) if there is none."""
    frame = sys._getframe(1)
    level = 0
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name != "undertow" and not str(name).startswith("undertow."):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}", level
        frame = frame.f_back  # type: ignore[assignment]  # None ends the loop
        level += 1
    return None, 1


def _described(t: Tensor | None) -> str:
    if t is None:
        return "none"
    found = statistics(t, histogram=False)
    text = f"{str(t.dtype).rpartition('.')[2]} {list(t.shape)}"
    if found["min"] is not None:
        text += f" from {found['min']:.3g} to {found['max']:.3g}"
    words = (("zeros", "zero" if found["zeros"] == 1 else "zeros"), ("nan", "NaN"), ("inf", "Inf"))
    parts = [f"{found[key]} {word}" for key, word in words if found[key]]
    return text + (f" ({', '.join(parts)})" if parts else "")


class Birth:
    """The operation that `nan_birth` found; its string form is a sentence."""

    def __init__(self, operation: str, backward: bool, line: str | None, inputs: list[str], results: list[str]) -> None:
        #: The operator, or the node of the backward pass.
        self.operation = operation
        #: Whether it is a node of a backward pass.
        self.backward = backward
        #: The line that called it, or that made the node, as file:line; None if unknown.
        self.line = line
        #: What it computed from: dtype, shape and range of each tensor.
        self.inputs = inputs
        #: What it made.
        self.results = results

    def __str__(self) -> str:
        where = f" at {shown_line(self.line)}" if self.line else ""
        what = "the backward node" if self.backward else "the operation"
        return f"{what} {self.operation}{where} made a NaN or an Inf: {'; '.join(self.results)}. Its inputs: {'; '.join(self.inputs) or 'none'}."

    def __repr__(self) -> str:
        return f"<Birth: {self}>"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(str(self))}</p>"


class nan_birth:
    """Context manager: reports the first operation, forward or backward, that makes a NaN from inputs without one, or an Inf from finite ones.

    It warns once, with the line, the shapes and the ranges of the inputs; `action="raise"` raises FloatingPointError instead, and a function is
    called with the `Birth`. `found` keeps it. Operations that write numbers which the program gives (`masked_fill`, `full_like`, `where`) are not
    reported. Each result is summed, because a sum is finite only if all elements are, and lines are recorded: half a microsecond and one read
    per operation, 10 % of a training step of a small network. The forward pass is watched on the thread that enters the block, backward passes
    on all threads.

    >>> import undertow as ut
    >>> x = ut.tensor([4.0, -1.0])
    >>> with ut.inspect.nan_birth(action=lambda birth: None) as watch:
    ...     y = x.sqrt() + 1
    >>> watch.found.operation, watch.found.inputs
    ('sqrt', ['float32 [2] from -1 to 4'])
    """

    def __init__(self, action: str | Callable[[Birth], None] = "warn") -> None:
        if action not in ("warn", "raise") and not callable(action):
            raise ValueError(f'nan_birth: action should be "warn", "raise" or a function, got {action!r}')
        self._action = action
        #: The operation that was found, or None.
        self.found: Birth | None = None

    def __enter__(self) -> nan_birth:
        _line_users.count = getattr(_line_users, "count", 0) + 1
        if _line_users.count == 1:
            _line_users.before = _C._record_lines(True)
        self._number = _C._find_nonfinite(self._report)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        _C._stop_finding(self._number)
        _line_users.count -= 1
        if _line_users.count == 0:
            _C._record_lines(_line_users.before)

    def _report(self, operation: str, node: Node | None, inputs: list[Any], results: list[Any]) -> None:
        line, level = _user_line()
        if node is not None:
            line = _C._NodeBase.line.__get__(node)
        self.found = Birth(operation, node is not None, line, [_described(t) for t in inputs], [_described(t) for t in results])
        if callable(self._action):
            self._action(self.found)
        elif self._action == "raise":
            raise FloatingPointError(str(self.found))
        else:
            warnings.warn(f"nan_birth: {self.found}", stacklevel=level + 1)
