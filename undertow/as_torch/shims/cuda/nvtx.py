"""Marks for NVIDIA's profiler, like torch.cuda.nvtx without a GPU: the functions exist and raise when called."""

from __future__ import annotations

from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, NoReturn

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def range_push(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise: there is no CUDA."""
    raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")


mark = range_push
range_end = range_push
range_pop = range_push
range_start = range_push


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Context manager or decorator that raises when it is entered."""
    range_push(msg)
    yield
