"""`record`: records the backward passes of a block, and the operations that made their graphs."""

from __future__ import annotations

import sys

from undertow import _C
from undertow.autograd._diagnostics.explain import _unconnected as unconnected
from undertow.autograd.graph import _pass_listeners as pass_listeners
from undertow.inspect._holders import find_holders
from undertow.inspect._modules import ModuleRows
from undertow.inspect._recording import Recording
from undertow.inspect._statistics import statistics
from undertow.inspect._tables import Tables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    from undertow import Tensor
    from undertow.autograd._node import Node
    from undertow.nn import Module

MOST_EVENTS = 20_000_000  # per thread; about 1 GB
_MOST_MISSING = 100  # parameters without a gradient that are explained


class record:
    """Context manager: records every backward pass of the block; gives a `Recording`.

    A recording has the graph (nodes, edges, shapes, saved tensors) and what the engine did, in order and with times. If the forward pass
    is in the block too, nodes also have their source lines and modules, and with `forward=True` each recorded operation is an event.
    `values=True` adds the statistics of every gradient, which costs a few operations per gradient. `model` names parameters even if the
    module itself is not called in the block. `memory=False` leaves out the bytes in use.

    >>> import undertow as ut
    >>> x = ut.ones(3, requires_grad=True)
    >>> with ut.inspect.record() as r:
    ...     (x * 2).sum().backward()
    >>> r.order()
    ['SumBackward0', 'MulBackward0', 'AccumulateGrad']
    """

    _changes_gradients = False

    def __init__(
        self, *, forward: bool = False, values: bool = False, memory: bool = True, model: Module | None = None, most_events: int = MOST_EVENTS
    ) -> None:
        self._tables = Tables(forward=forward, values=values, memory=memory)
        self._modules = ModuleRows()
        self._model, self._values, self._memory, self._most_events = model, values, memory, most_events
        self._recording = Recording()
        self._explained: set[str] = set()

    def __enter__(self) -> Recording:
        from undertow.optim.optimizer import register_optimizer_step_post_hook

        if self._model is not None:
            self._modules.add(self._model)
        self._modules.__enter__()
        self._step_hook = register_optimizer_step_post_hook(self._optimizer_stepped)
        self._tables.recording = _C._trace_start(self._memory, True, self._most_events)
        self._observer = _C._observe_gradients(self._observe, self._changes_gradients) if self._values else None
        pass_listeners.append(self._pass_ended)
        return self._recording

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        pass_listeners.remove(self._pass_ended)
        if self._observer is not None:
            _C._unobserve_gradients(self._observer)
        self._modules.__exit__()
        self._step_hook.remove()
        self._tables.take(end=True)
        self._tables.holders = [{"level": "info", "text": str(h), "node": -1, "holder": h.name} for h in find_holders(sys._getframe(1))]
        self._recording._set(self._tables.build(self._modules))

    def _pass_ended(self, outputs: Any, accumulated: bool) -> None:
        """Find out why parameters got no gradient, while the loss and the records of what it was computed from are alive."""
        losses = [t for t in outputs if isinstance(t, _C.Tensor)]
        if not accumulated or not losses or _C._current_graph_task_id() != -1:
            return
        for name, _, parameter in self._modules.parameters():
            if parameter.grad is None and name not in self._explained and len(self._explained) < _MOST_MISSING:
                self._explained.add(name)
                if parameter.requires_grad and not _C._graph_reaches(losses, parameter)[0]:
                    why = unconnected(parameter, losses[0])
                    text = f"{name} got no gradient: {str(why).partition(': ')[2]}"
                    self._tables.missing.append({"level": "warn", "text": text, "node": -1, "reason": why.reason, "parameter": name})

    def _optimizer_stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._tables.take(end=False)  # passes so far belong to this step
        self._tables.step += 1

    def _observe(self, pass_id: int, node: Node, grads: list[Tensor | None]) -> Any:
        number = _C._trace_number(self._tables.recording, pass_id, node)
        if number < 0:
            self._tables.take(end=False)
            number = _C._trace_number(self._tables.recording, pass_id, node)
        for slot, grad in enumerate(grads):
            if grad is not None:
                self._tables.add_values(pass_id, number, slot, statistics(grad))
        return None
