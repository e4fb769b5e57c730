"""The public interface of the graph: nodes, edges, saved-tensor hooks, and the call into the engine.

`_engine_run_backward` calls the engine for `backward` and `grad`. If the level of the logger
`undertow.autograd.graph` or `torch.autograd.graph` is DEBUG, every node that runs is logged (_diagnostics/graph_log.py).
"""

from __future__ import annotations

import sys

from undertow import _C
from undertow.autograd._multi_grad_hook import register_multi_grad_hook
from undertow.autograd._node import (
    GradientEdge,
    Node,
    get_gradient_edge,
)
from undertow.autograd._saved_hooks import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    save_on_cpu,
    saved_tensors_hooks,
)
from undertow.autograd.variable import Variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from logging import Logger
    from typing import Any

    from undertow import Tensor
    from undertow.utils.hooks import RemovableHandle

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]

_loggers: tuple[Logger, Logger] | None = None  # set on first use: see _log_nodes
# Called after each pass that Python starts, with its outputs and whether it accumulated gradients: running recordings.
_pass_listeners: list[Callable[[Sequence[Tensor | GradientEdge], bool], None]] = []


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Increment the version of a tensor, or of each of several, that was changed in place without autograd's knowledge.

    >>> import undertow as ut
    >>> x = ut.ones(2)
    >>> ut.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    _C._increment_version((tensor,) if isinstance(tensor, _C.Tensor) else tensor)


def _log_nodes(t_outputs: Sequence[Tensor | GradientEdge]) -> list[RemovableHandle]:
    """Log each node of the coming pass, if a logger's level asks for it; return the handles of the hooks that do.

    A program that has set a level must have imported logging, so this function never imports it; other programs
    pay one dictionary lookup.
    """
    global _loggers
    if _loggers is None:
        logging = sys.modules.get("logging")
        if logging is None:
            return []
        _loggers = (logging.getLogger("undertow.autograd.graph"), logging.getLogger("torch.autograd.graph"))
    ours, torchs = _loggers
    if not (ours.isEnabledFor(10) or torchs.isEnabledFor(10)):  # 10 is logging.DEBUG
        return []
    from undertow.autograd._diagnostics.graph_log import chosen_loggers, log_each_node

    loggers = chosen_loggers(ours, torchs)
    return log_each_node(t_outputs, loggers) if loggers else []


def _engine_run_backward(
    t_outputs: Sequence[Tensor | GradientEdge], *args: Any, **kwargs: Any
) -> tuple[Tensor | None, ...]:
    """Run the engine from `t_outputs`; the other arguments are passed to the engine."""
    handles = _log_nodes(t_outputs)
    if not (handles or _pass_listeners):
        return Variable._execution_engine.run_backward(t_outputs, *args, **kwargs)
    try:
        result = Variable._execution_engine.run_backward(t_outputs, *args, **kwargs)
    finally:
        for handle in handles:
            handle.remove()
    for listener in tuple(_pass_listeners):  # a copy: recordings of other threads may end meanwhile
        listener(t_outputs, bool(kwargs.get("accumulate_grad")))
    return result
