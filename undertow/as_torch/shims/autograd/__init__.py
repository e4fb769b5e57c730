"""Names of torch.autograd that are not in undertow.autograd: its profiler's, a switch of its tests, and the modules of this folder."""

from __future__ import annotations

from undertow._C import _profiler_enabled
from undertow.profiler import kineto_available

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["_force_original_view_tracking", "_profiler_enabled", "kineto_available"]


class _force_original_view_tracking:
    """A switch between torch's two ways to record views, as a function or context manager. It is stored and has no effect: there is one way."""

    mode = False

    def __init__(self, mode: bool) -> None:
        self.prev = _force_original_view_tracking.mode
        _force_original_view_tracking.mode = self.mode = mode

    def __enter__(self) -> None: ...

    def __exit__(self, *error: Any) -> None:
        _force_original_view_tracking.mode = self.prev
