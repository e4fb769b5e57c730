"""The logs of `checkpoint(debug=True)`: which operators ran in the forward pass and in the recomputation, and from where."""

from __future__ import annotations

import os
import sys

import undertow
from undertow._C import Tensor
from undertow.overrides import TorchFunctionMode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

_PACKAGE = os.path.dirname(os.path.abspath(undertow.__file__)) + os.sep
_LINE = "+" + "~" * 78 + "+\n|{:^78}|\n+" + "-" * 78 + "+\n"


def _shown(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{str(value.dtype).rpartition('.')[2]}{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_shown, value)) + "]"
    return repr(value)


class OperatorLog(TorchFunctionMode):
    """Collects each operator with its arguments and result, and the lines of the program that called it."""

    def __init__(self) -> None:
        super().__init__()
        self.operators: list[str] = []
        self.callers: list[list[str]] = []

    def __enter__(self) -> Any:
        self.operators.clear()  # only the latest recomputation is of interest
        self.callers.clear()
        return super().__enter__()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        frame: FrameType | None = sys._getframe(1)
        callers = []
        while frame is not None:
            if not frame.f_code.co_filename.startswith(_PACKAGE):
                callers.append(f"{frame.f_code.co_filename}:{frame.f_lineno}:{frame.f_code.co_name}")
            frame = frame.f_back
        given = ", ".join([*map(_shown, args), *(f"{k}={_shown(v)}" for k, v in kwargs.items())])
        self.operators.append(f"{getattr(func, '__name__', func)}({given})")
        self.callers.append(callers)
        result = func(*args, **kwargs)  # an error, or the end of a recomputation, leaves the operator in the log
        self.operators[-1] = f"{_shown(result)} = {self.operators[-1]}"
        return result

    def traces(self, label: str) -> str:
        """Return every operator with the lines that called it."""
        found = zip(self.operators, self.callers, strict=True)
        return "".join(f"{op}   ({i} of {len(self.operators)} in {label})\n" + "\n".join(lines) + "\n\n" for i, (op, lines) in enumerate(found, 1))


def report(forward: OperatorLog, again: OperatorLog, package: str) -> str:
    """Return the text of the error: both logs, and how to read them."""
    parts = (
        " An error happened while unpacking tensors; dumping logs of latest computation\n"
        f"because you passed `debug=True` to `{package}.utils.checkpoint.checkpoint()`.\n\n",
        _LINE.format("1. Stack traces of the operators that ran in the original forward"),
        f"\n{forward.traces('original')}",
        _LINE.format("2. Stack traces of the operators that ran during recomputation"),
        f"\n{again.traces('recompute')}",
        _LINE.format("3. Log of operators in the original forward and recomputation"),
        "\nOperations executed during the original forward:\n\n" + "\n".join(forward.operators),
        "\n\nOperations executed during recomputation:\n\n" + "\n".join(again.operators),
        "\n\n ERROR: Detected non-determinism while running activation checkpointing\n\n"
        " You are seeing this error because you passed `debug=True` to checkpoint and\n"
        " the tensors to be saved in the original forward differ from those saved during\n"
        " recomputation. Compare the operators of both runs, listed above in the order\n"
        " in which they ran, and find the lines that called them in parts 1 and 2.\n",
    )
    return "".join(parts)
