"""Checkpointing: do not keep the intermediate tensors of a part of the program, and recompute them in the backward pass.

`use_reentrant=False` is the implementation to choose (see _checkpoint_frames.py). `use_reentrant=True` selects the older one, in which
nothing is recorded at first and the backward pass runs a nested backward pass (see _checkpoint_reentrant.py). Without the argument the
older one is used, with a warning, as in PyTorch.
"""

from __future__ import annotations

import contextlib
import warnings

from undertow._type_info import package_name
from undertow.utils._checkpoint_device import DefaultDeviceType, get_device_states, set_device_states
from undertow.utils._checkpoint_frames import CheckpointError, Frame, GraphExecGroup
from undertow.utils._checkpoint_policy import CheckpointPolicy, SelectiveCheckpointContext, create_selective_checkpoint_contexts
from undertow.utils._checkpoint_reentrant import CheckpointFunction, check_backward_validity, detach_variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from typing import Any

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "GraphExecGroup",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]

_early_stop: bool | None = None  # set by set_checkpoint_early_stop; None: each call decides
_debug: bool | None = None  # set by set_checkpoint_debug_enabled; None: each call decides


def noop_context_fn() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """Return two context managers without effect: the default of `context_fn`."""
    return contextlib.nullcontext(), contextlib.nullcontext()


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Context manager: set whether recomputations stop at the last tensor needed, or run the whole function again.

    >>> from undertow.utils.checkpoint import set_checkpoint_early_stop
    >>> with set_checkpoint_early_stop(False):
    ...     pass  # checkpoint(...)
    """
    global _early_stop
    before, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Context manager: set whether errors contain the operators of both runs, whatever `debug` says; None leaves it to each call.

    >>> from undertow.utils.checkpoint import set_checkpoint_debug_enabled
    >>> with set_checkpoint_debug_enabled(True):
    ...     pass  # checkpoint(...)
    """
    global _debug
    before, _debug = _debug, enabled
    try:
        yield
    finally:
        _debug = before


def _reentrant(use_reentrant: bool | None, function: str = "") -> bool:
    """Return the variant to use; warn, in the name of the function, if the caller did not choose."""
    if use_reentrant is None:
        warnings.warn(
            f"{package_name()}.utils.checkpoint{function}: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling "
            "checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but if you need to preserve the "
            "current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the differences between the two "
            "variants.",
            stacklevel=3,
        )
    return use_reentrant is None or bool(use_reentrant)


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[AbstractContextManager[None], AbstractContextManager[None]]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Call `function(*args, **kwargs)`; recompute its intermediate tensors in the backward pass instead of keeping them.

    The random number generator's state is restored for the recomputation unless `preserve_rng_state=False`. If the second
    run differs from the first, a CheckpointError names the first operation that differs; with `debug` it lists the operators of both runs.
    `context_fn()` returns one context manager for the first run and one for the recomputations; see `create_selective_checkpoint_contexts`.

    >>> import undertow as ut
    >>> from undertow.utils.checkpoint import checkpoint
    >>> x = ut.ones(2, requires_grad=True)
    >>> checkpoint(lambda x: x.exp().sin().sum(), x, use_reentrant=False).backward()
    >>> x.grad
    tensor([-2.4783, -2.4783])
    """
    preserve = kwargs.pop("preserve_rng_state", True)
    if _reentrant(use_reentrant):
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    logs = None
    if debug if _debug is None else _debug:
        if context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn")
        from undertow.utils._checkpoint_debug import OperatorLog

        logs = OperatorLog(), OperatorLog()
        context_fn = lambda: logs
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
    forward_context, recompute_context = context_fn()
    frame = Frame(
        function, args, kwargs,
        preserve_rng_state=preserve,
        determinism_check=determinism_check == "default",
        early_stop=early_stop if _early_stop is None else _early_stop,
        recompute_context=recompute_context,
        logs=logs,
    )
    return frame.run(args, kwargs, forward_context)


def checkpoint_sequential(functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any) -> Any:
    """Run a sequence of functions in `segments` parts; all but the last are checkpointed.

    >>> import undertow as ut
    >>> from undertow.utils.checkpoint import checkpoint_sequential
    >>> x = ut.ones(2, requires_grad=True)
    >>> checkpoint_sequential([ut.exp, ut.sin, ut.sum], 2, x, use_reentrant=False).backward()
    >>> x.grad
    tensor([-2.4783, -2.4783])
    """
    use_reentrant = _reentrant(use_reentrant, ".checkpoint_sequential")
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    parts = list(functions.children()) if hasattr(functions, "children") else list(functions)

    def run(start: int, end: int) -> Callable[[Any], Any]:
        def forward(value: Any) -> Any:
            for part in parts[start:end]:
                value = part(value)
            return value

        return forward

    size = len(parts) // segments
    end = 0
    for start in range(0, size * (segments - 1), size):
        end = start + size
        input = checkpoint(run(start, end), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return run(end, len(parts))(input)
