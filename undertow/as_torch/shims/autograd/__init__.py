"""Names of torch.autograd that are not in undertow.autograd: its profiler's, a query of its tests, and the modules of this folder."""

from __future__ import annotations

import sys

import undertow
from undertow._C import _profiler_enabled
from undertow.autograd.grad_mode import _is_view_replay_enabled as is_view_replay_enabled
from undertow.profiler import kineto_available

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["_calculate_shape", "_is_checkpoint_valid", "_profiler_enabled", "is_view_replay_enabled", "kineto_available", "torch"]


def __getattr__(name: str) -> Any:
    if name == "torch":  # torch.autograd imports torch, and old programs use torch.autograd.torch
        return sys.modules.get("torch", undertow)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _calculate_shape(output: Tensor, grad: Tensor, is_grads_batched: bool) -> tuple[Any, Any]:
    """Return the sizes that must agree: the output's, and those of its gradient without the batch dimension."""
    return output.shape, grad.shape[1:] if is_grads_batched else grad.shape


def _is_checkpoint_valid() -> bool:
    """Return True unless a backward pass with given inputs runs, in which a checkpoint with reentrance would be wrong."""
    from undertow.autograd import Variable

    return Variable._execution_engine.is_checkpoint_valid()
