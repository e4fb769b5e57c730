"""Reentrant checkpoints, the older implementation: nothing is recorded at first, and the backward pass runs and records the function."""

from __future__ import annotations

import warnings

import undertow
import undertow.random
from undertow._C import Tensor
from undertow.autograd.function import Function
from undertow.utils._checkpoint_device import autocast_state, forked_device_states, get_device_states, restored_autocast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Detach the tensors among the inputs, keeping their requires_grad."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(t.detach().requires_grad_(t.requires_grad) if isinstance(t, Tensor) else t for t in inputs)


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if no input requires grad: a reentrant checkpoint then has no gradients."""
    if not any(isinstance(a, Tensor) and a.requires_grad for a in inputs):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=3)


class CheckpointFunction(Function):
    """A function as one node, whose backward runs the function again."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.rng_state = undertow.random.get_rng_state() if preserve_rng_state else None
        ctx.device_states = get_device_states(args) if preserve_rng_state else ([], [])
        ctx.autocast = autocast_state()
        ctx.at = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.inputs = [None if isinstance(a, Tensor) else a for a in args]
        ctx.save_for_backward(*[args[i] for i in ctx.at])
        with undertow.no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Any, ...]:
        if not undertow.autograd.Variable._execution_engine.is_checkpoint_valid():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
                ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without passing the "
                "`inputs` argument."
            )
        inputs = list(ctx.inputs)
        for i, tensor in zip(ctx.at, ctx.saved_tensors, strict=True):
            inputs[i] = tensor
        with undertow.random.fork_rng(enabled=ctx.rng_state is not None), forked_device_states(*ctx.device_states):
            if ctx.rng_state is not None:
                undertow.random.set_rng_state(ctx.rng_state)
            detached = detach_variable(tuple(inputs))
            with undertow.enable_grad(), restored_autocast(ctx.autocast):
                outputs = ctx.run_function(*detached)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        wanted = [(o, g) for o, g in zip(outputs, grads, strict=True) if isinstance(o, Tensor) and o.requires_grad]
        if not wanted:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        undertow.autograd.backward([o for o, _ in wanted], [g for _, g in wanted])
        return (None, None, *(t.grad if isinstance(t, Tensor) else None for t in detached))
