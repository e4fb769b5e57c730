"""The public interface of the graph: nodes, edges, saved-tensor hooks, and the call into the engine.

`_engine_run_backward` is the only call from Python into the engine. If the level of the logger
`undertow.autograd.graph` is DEBUG, every node that runs is logged.
"""

from __future__ import annotations

import sys

from undertow import _C
from undertow.autograd._multi_grad_hook import register_multi_grad_hook
from undertow.autograd._node import (
    GradientEdge,
    Node,
    _get_grad_fn_or_grad_acc,
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

_log: Logger | None = None  # set on first use: see _debug_log

_SHORT_DTYPES = {
    "bool": "b8",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "complex32": "c32",
    "complex64": "c64",
    "complex128": "c128",
}


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Increment the version of a tensor, or of each of several, that was changed in place without autograd's knowledge.

    >>> import undertow as ut
    >>> x = ut.ones(2)
    >>> ut.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    _C._increment_version((tensor,) if isinstance(tensor, _C.Tensor) else tensor)


def _debug_log() -> Logger | None:
    """Return the logger if its level is DEBUG, otherwise None.

    A program that has set the level must have imported logging, so this function never imports it; other programs
    pay one dictionary lookup.
    """
    global _log
    if _log is None:
        logging = sys.modules.get("logging")
        if logging is None:
            return None
        _log = logging.getLogger("undertow.autograd.graph")
    return _log if _log.isEnabledFor(10) else None  # 10 is logging.DEBUG


def _short(grad: Tensor | None) -> str:
    """Format a gradient for the log, such as f32[2, 3]."""
    if grad is None:
        return "None"
    name = str(grad.dtype).rpartition(".")[2]
    return f"{_SHORT_DTYPES.get(name, name)}[{', '.join(map(str, grad.shape))}]"


def _whole_graph(t_outputs: Sequence[Tensor | GradientEdge]) -> list[Node]:
    """Return every node reachable from the outputs, once."""
    wanting = (t for t in t_outputs if isinstance(t, GradientEdge) or t.requires_grad)
    stack = [_get_grad_fn_or_grad_acc(t) for t in wanting]
    seen: set[Node] = set()
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack.extend(following for following, _ in node.next_functions if following is not None)
    return list(seen)


def _register_logging_hooks_on_whole_graph(
    t_outputs: Sequence[Tensor | GradientEdge], log: Logger
) -> Callable[[], None]:
    """Log each node of the graph as it runs; return a function that removes the hooks."""

    def prehook(grad_outputs: Sequence[Tensor | None]) -> None:
        node = _C._current_autograd_node()
        log.debug(
            "Executing: %s with grad_outputs: [%s]", node, ",".join(map(_short, grad_outputs))
        )

    handles = [node.register_prehook(prehook) for node in _whole_graph(t_outputs)]

    def remove() -> None:
        for handle in handles:
            handle.remove()

    return remove


def _engine_run_backward(
    t_outputs: Sequence[Tensor | GradientEdge], *args: Any, **kwargs: Any
) -> tuple[Tensor | None, ...]:
    """Run the engine from `t_outputs`; the other arguments are passed to the engine."""
    log = _debug_log()
    if log is None:
        return Variable._execution_engine.run_backward(t_outputs, *args, **kwargs)
    remove_logging = _register_logging_hooks_on_whole_graph(t_outputs, log)
    try:
        return Variable._execution_engine.run_backward(t_outputs, *args, **kwargs)
    finally:
        remove_logging()
