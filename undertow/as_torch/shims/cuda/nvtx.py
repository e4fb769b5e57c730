"""Ranges and marks for NVIDIA's profilers. With a GPU the functions exist and record nothing; without one they raise, as in torch."""

from __future__ import annotations

from contextlib import contextmanager

from undertow.cuda._library import available

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]

_depth = 0


def _check() -> None:
    if not available():
        raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")


def range_push(msg: str) -> int:
    """Begin a range inside the current one, and return how many were open."""
    global _depth
    _check()
    _depth += 1
    return _depth - 1


def range_pop() -> int:
    """End the innermost range, and return how many are still open."""
    global _depth
    _check()
    _depth = max(_depth - 1, 0)
    return _depth


def range_start(msg: str) -> int:
    """Begin a range that may overlap others, and return its number."""
    _check()
    return 0


def range_end(range_id: int) -> None:
    """End a range of `range_start`."""
    _check()


def mark(msg: str) -> None:
    """Mark a moment."""
    _check()


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Context manager or decorator of a range; the message is formatted with the arguments."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
