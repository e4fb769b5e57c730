"""NVIDIA's annotations, as a build of torch without CUDA has them: each call is refused. `autograd.profiler.record_function` is here."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

__all__ = ["mark", "range", "range_pop", "range_push"]


def range_push(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises: there is no NVTX here."""
    raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")


range_pop = mark = range = range_push
