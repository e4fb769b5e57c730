"""The DEBUG log of a backward pass: one line for each node as it runs. Loaded when a logger's level asks for it."""

from __future__ import annotations

from itertools import count

from undertow import _C
from undertow.autograd._node import GradientEdge, _get_grad_fn_or_grad_acc
from undertow.utils.weak import WeakIdKeyDictionary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from logging import Logger

    from undertow import Tensor
    from undertow.autograd._node import Node
    from undertow.utils.hooks import RemovableHandle

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

_leaf_numbers = WeakIdKeyDictionary()
_next_leaf = count(1)


def chosen_loggers(ours: Logger, torchs: Logger) -> list[Logger]:
    """Return the loggers that get the log: those that the program has set up, otherwise ours.

    If only the root logger's level is DEBUG, both loggers are enabled; a program must not get each line twice then.
    """
    return [log for log in (ours, torchs) if log.isEnabledFor(10) and _is_set_up(log)] or [ours] * ours.isEnabledFor(10)


def _is_set_up(log: Logger) -> bool:
    """Return whether this logger, or one above it except the root, has a level or a handler."""
    at: Logger | None = log
    while at is not None and at.parent is not None:  # the root has no parent
        if at.level or at.handlers:
            return True
        at = at.parent
    return False


def log_each_node(t_outputs: Sequence[Tensor | GradientEdge], loggers: list[Logger]) -> list[RemovableHandle]:
    """Log each node of the graph as it runs; return the handles of the hooks that do."""

    def hook_for(name: str) -> Callable[[Sequence[Tensor | None]], None]:
        def prehook(grad_outputs: Sequence[Tensor | None]) -> None:
            node, grads = _C._current_autograd_node(), ",".join(map(_short, grad_outputs))
            for log in loggers:
                log.debug("Executing: %s with grad_outputs: [%s] (%s)", node, grads, name)

        return prehook

    return [node.register_prehook(hook_for(_number_and_line(node))) for node in _whole_graph(t_outputs)]


def _whole_graph(t_outputs: Sequence[Tensor | GradientEdge]) -> list[Node]:
    """Return every node reachable from the outputs, once."""
    stack = [_get_grad_fn_or_grad_acc(t) for t in t_outputs if isinstance(t, GradientEdge) or t.requires_grad]
    seen: dict[Node, None] = {}
    while stack:
        node = stack.pop()
        if node not in seen:
            seen[node] = None
            stack.extend(following for following, _ in node.next_functions if following is not None)
    return list(seen)


def _number_and_line(node: Node) -> str:
    """Return what identifies the node in every pass and, in a deterministic program, in every run: "node 12, train.py:8" or "leaf 3"."""
    if isinstance(node, _C._node_type("AccumulateGrad")):
        leaf = node.variable  # type: ignore[attr-defined]  # only this type has it
        if leaf not in _leaf_numbers:
            _leaf_numbers[leaf] = next(_next_leaf)
        return f"leaf {_leaf_numbers[leaf]}"
    line = _C._NodeBase.line.__get__(node)  # the node's, also if a custom Function has stored a `line` of its own
    return f"node {node._sequence_nr()}, {line}" if line else f"node {node._sequence_nr()}"


def _short(grad: Tensor | None) -> str:
    """Format a gradient for the log, such as f32[2, 3]."""
    if grad is None:
        return "None"
    name = str(grad.dtype).rpartition(".")[2]
    return f"{_SHORT_DTYPES.get(name, name)}[{', '.join(map(str, grad.shape))}]"
