"""Optimizers whose update is one native function of each element: applied to a whole variable, or to the rows of a sparse gradient."""

from __future__ import annotations

import undertow
from undertow import _C
from undertow.train._optimizer import Optimizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from undertow._C import Tensor
    from undertow.train._slices import IndexedSlices

_NATIVE = (undertow.float32, undertow.float64)


class NativeOptimizer(Optimizer):
    """Base class. A subclass sets the core's algorithm (core/kernels/cpu/optim/optim.isa.cpp) and its slots in the algorithm's order.

    Its `_prepare` sets `_row`, the algorithm's constants for this step.
    """

    _algorithm: str
    _slot_order: Sequence[str | None] = ()
    _row: tuple[float, ...]

    def _states(self, var: Tensor) -> list[Any]:
        return [None if name is None else self._slots[name][var] for name in self._slot_order]

    def _apply_dense(self, grad: Tensor, var: Tensor) -> None:
        self._run(var, grad, self._states(var))

    def _apply_sparse(self, grad: IndexedSlices, var: Tensor) -> None:
        if not len(grad.indices):
            return
        indices = grad.indices.to(undertow.int64)
        whole = [var, *self._states(var)]
        rows: list[Any] = [None if t is None else t.detach().index_select(0, indices) for t in whole]
        self._run(rows[0], grad.values, rows[1:])
        for t, changed in zip(whole, rows, strict=True):
            if t is not None:
                t.index_copy_(0, indices, changed)

    def _run(self, p: Tensor, g: Tensor, states: list[Any]) -> None:
        if p.dtype in _NATIVE:
            self._elements(p, g, states)
            return
        # Half types are computed in float32 and rounded once.
        wide: list[Any] = [None if t is None else t.float() for t in (p, *states)]
        self._elements(wide[0], g.float(), wide[1:])
        for narrow, computed in zip((p, *states), wide, strict=True):
            if narrow is not None:
                narrow.copy_(computed)

    def _elements(self, p: Tensor, g: Tensor, states: list[Any]) -> None:
        """Update `p` and its states in place; each element on its own."""
        _C._optim_update(self._algorithm, [[p], [g], *([] if s is None else [s] for s in states)], self._row)
