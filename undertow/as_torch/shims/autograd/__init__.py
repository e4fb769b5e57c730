"""Names of torch.autograd that are not in undertow.autograd: its profiler's, a query of its tests, and the modules of this folder."""

from __future__ import annotations

from undertow._C import _profiler_enabled
from undertow.autograd.grad_mode import _is_view_replay_enabled as is_view_replay_enabled
from undertow.profiler import kineto_available

__all__ = ["_is_checkpoint_valid", "_profiler_enabled", "is_view_replay_enabled", "kineto_available"]


def _is_checkpoint_valid() -> bool:
    """Return True unless a backward pass with given inputs runs, in which a checkpoint with reentrance would be wrong."""
    from undertow.autograd import Variable

    return Variable._execution_engine.is_checkpoint_valid()
