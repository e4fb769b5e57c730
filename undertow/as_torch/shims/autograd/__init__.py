"""Names of torch.autograd that are not in undertow.autograd: its profiler's, a query of its tests, and the modules of this folder."""

from __future__ import annotations

from undertow._C import _profiler_enabled
from undertow.autograd.grad_mode import _force_original_view_tracking
from undertow.autograd.grad_mode import _is_view_replay_enabled as is_view_replay_enabled
from undertow.profiler import kineto_available

__all__ = ["_force_original_view_tracking", "_profiler_enabled", "is_view_replay_enabled", "kineto_available"]
