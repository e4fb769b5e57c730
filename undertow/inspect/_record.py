"""`record`: records the backward passes of a block, and the operations that made their graphs."""

from __future__ import annotations

from undertow import _C
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

    def __init__(
        self, *, forward: bool = False, values: bool = False, memory: bool = True, model: Module | None = None, most_events: int = MOST_EVENTS
    ) -> None:
        self._tables = Tables(forward=forward, values=values, memory=memory)
        self._modules = ModuleRows()
        self._model, self._values, self._memory, self._most_events = model, values, memory, most_events
        self._recording = Recording()

    def __enter__(self) -> Recording:
        from undertow.optim.optimizer import register_optimizer_step_post_hook

        if self._model is not None:
            self._modules.add(self._model)
        self._modules.__enter__()
        self._step_hook = register_optimizer_step_post_hook(self._optimizer_stepped)
        _C._trace_start(self._memory, True, self._most_events)
        self._before = _C._trace_observe(self._observe) if self._values else None
        return self._recording

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._values:
            _C._trace_observe(self._before)
        self._modules.__exit__()
        self._step_hook.remove()
        self._tables.take(end=True)
        self._recording._set(self._tables.build(self._modules))

    def _optimizer_stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._tables.take(end=False)  # passes so far belong to this step
        self._tables.step += 1

    def _observe(self, look: int, pass_id: int, node: Node, grads: list[Tensor | None]) -> None:
        if look != 0:
            return
        number = _C._trace_number(pass_id, node)
        if number < 0:
            self._tables.take(end=False)
            number = _C._trace_number(pass_id, node)
        for slot, grad in enumerate(grads):
            if grad is not None:
                self._tables.add_values(pass_id, number, slot, statistics(grad))
