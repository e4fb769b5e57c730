"""How an optimizer updates a variable: one processor per kind of variable, and one for sparse gradients."""

from __future__ import annotations

from undertow._C import Tensor
from undertow.train._slices import IndexedSlices
from undertow.train._variable import Variable, described

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow.train._optimizer import Optimizer


class _Processor:
    """The optimizer's interface to a variable."""

    def __init__(self, v: Tensor) -> None:
        self._v = v

    def target(self) -> Tensor:
        """Return the tensor to differentiate with respect to."""
        return self._v

    def check(self) -> None:
        """Raise if the variable cannot be updated."""

    def update_op(self, optimizer: Optimizer, g: Tensor | IndexedSlices) -> None:
        """Update the variable with the gradient."""
        raise NotImplementedError


class _DenseProcessor(_Processor):
    """A leaf that requires grad, such as a module's parameter."""

    def update_op(self, optimizer: Optimizer, g: Tensor | IndexedSlices) -> None:
        if isinstance(g, Tensor) and g.is_sparse:
            g = IndexedSlices.from_sparse(g) if g.sparse_dim() == 1 else g.to_dense()
        if isinstance(g, IndexedSlices):
            return _SparseProcessor(self._v).update_op(optimizer, g)
        if g.shape != self._v.shape:
            raise ValueError(f"Shapes must be equal: the gradient has shape {tuple(g.shape)}, its variable is {described(self._v)}")
        return optimizer._update_dense(g, self._v)


class _RefVariableProcessor(_DenseProcessor):
    """A `Variable`: its constraint is applied after the update."""

    if TYPE_CHECKING:
        _v: Variable

    def update_op(self, optimizer: Optimizer, g: Tensor | IndexedSlices) -> None:
        super().update_op(optimizer, g)
        if self._v.constraint is not None:
            self._v.assign(self._v.constraint(self._v.detach()))


class _SparseProcessor(_Processor):
    """Rows of a variable: rows with the same index are summed first, because an update is not linear in the gradient."""

    def update_op(self, optimizer: Optimizer, g: Any) -> None:
        if getattr(self._v, "constraint", None) is not None:
            raise RuntimeError("Cannot use a constraint function on a sparse variable.")
        if tuple(g.values.shape[1:]) != tuple(self._v.shape[1:]):
            rows = tuple(g.values.shape[1:])
            raise ValueError(f"Shapes must be equal: the gradient has rows of shape {rows}, its variable is {described(self._v)}")
        optimizer._update_rows(g, self._v)


class _TensorProcessor(_Processor):
    """A tensor that is not a leaf or does not require grad: gradients can be computed for it, but it cannot be updated."""

    def check(self) -> None:
        raise NotImplementedError(
            f"Trying to update a Tensor: {described(self._v)} is not a variable: expected a train.Variable or a leaf that requires grad"
        )

    def update_op(self, optimizer: Optimizer, g: Tensor | IndexedSlices) -> None:
        self.check()


def _get_processor(v: Any) -> _Processor:
    """Return the processor of `v`."""
    if isinstance(v, Variable):
        return _RefVariableProcessor(v)
    if isinstance(v, Tensor):
        return _DenseProcessor(v) if v.is_leaf and v.requires_grad else _TensorProcessor(v)
    raise NotImplementedError(f"Trying to optimize unsupported type: {type(v).__name__}")
