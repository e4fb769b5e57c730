"""`Variable`: a named leaf of the graph that the optimizers of this package change in place."""

from __future__ import annotations

import itertools

import undertow
from undertow import _C
from undertow._C import Parameter, Tensor
from undertow.train._registry import remember_variable
from undertow.train._slices import IndexedSlices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_unnamed = itertools.count()


class Variable(Parameter):
    """A tensor with a name. `constraint` is applied to its value after an optimizer's step.

    With `trainable=False` optimizers do not collect it by default; its gradient can still be requested explicitly.

    >>> import undertow as ut
    >>> w = ut.train.Variable([3.0, -4.0], name="w", constraint=lambda v: v.clamp(min=0))
    >>> _ = ut.train.GradientDescentOptimizer(0.5).minimize((w * w).sum() / 2 + w.sum())
    >>> w
    <Variable 'w' shape=(2,) dtype=float32, [1.0, 0.0]>
    >>> w.assign_add([1.0, 1.0]).tolist()
    [2.0, 1.0]
    """

    if not TYPE_CHECKING:  # type checkers use Tensor's signature, which has the same arguments
        __torch_function__ = _C._disabled_torch_function_impl
    _name: str
    _trainable: bool
    _constraint: Callable[[Tensor], Tensor] | None

    def __new__(
        cls,
        initial_value: Any = None,
        trainable: bool = True,
        name: str | None = None,
        dtype: undertow.dtype | None = None,
        constraint: Callable[[Tensor], Tensor] | None = None,
    ) -> Variable:
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        if constraint is not None and not callable(constraint):
            raise ValueError("The `constraint` argument must be a callable.")
        if callable(initial_value) and not isinstance(initial_value, Tensor):
            initial_value = initial_value()
        if isinstance(initial_value, Tensor):
            value = initial_value.detach().to(dtype or initial_value.dtype).clone()
        else:
            value = undertow.tensor(initial_value, dtype=dtype)
        self = super().__new__(cls, value, value.dtype.is_floating_point or value.dtype.is_complex)
        if name is None:
            number = next(_unnamed)
            name = f"Variable_{number}" if number else "Variable"
        self._name, self._trainable, self._constraint = name, trainable, constraint
        remember_variable(self)
        return self

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    @property
    def trainable(self) -> bool:
        """Whether optimizers collect it by default."""
        return self._trainable

    @property
    def constraint(self) -> Callable[[Tensor], Tensor] | None:
        """The function applied after every step of an optimizer."""
        return self._constraint

    def value(self) -> Tensor:
        """Return the value as a tensor in the graph."""
        return self.view_as(self)

    read_value = value

    def _fitting(self, value: Any, what: str) -> Tensor:
        found = value.detach() if isinstance(value, Tensor) else undertow.tensor(value, dtype=self.dtype)
        if found.shape != self.shape:
            raise ValueError(f"{what}: shapes must be equal: variable {self.name!r} has shape {tuple(self.shape)}, the value {tuple(found.shape)}")
        return found

    def assign(self, value: Any) -> Variable:
        """Set the value to `value`, which must have the same shape; return the variable."""
        with undertow.no_grad():
            self.copy_(self._fitting(value, "assign"))
        return self

    def assign_add(self, delta: Any) -> Variable:
        """Add `delta`; return the variable."""
        with undertow.no_grad():
            self.add_(self._fitting(delta, "assign_add"))
        return self

    def assign_sub(self, delta: Any) -> Variable:
        """Subtract `delta`; return the variable."""
        with undertow.no_grad():
            self.sub_(self._fitting(delta, "assign_sub"))
        return self

    def scatter_add(self, sparse_delta: IndexedSlices) -> Variable:  # type: ignore[override]  # as TensorFlow has it
        """Add rows; a repeated index is added repeatedly."""
        with undertow.no_grad():
            self.index_add_(0, sparse_delta.indices.to(undertow.int64), sparse_delta.values)
        return self

    def scatter_sub(self, sparse_delta: IndexedSlices) -> Variable:
        """Subtract rows."""
        return self.scatter_add(-sparse_delta)

    def scatter_update(self, sparse_delta: IndexedSlices) -> Variable:
        """Replace rows."""
        with undertow.no_grad():
            self.index_copy_(0, sparse_delta.indices.to(undertow.int64), sparse_delta.values)
        return self

    def __repr__(self) -> str:
        return f"<Variable {self.name!r} shape={tuple(self.shape)} dtype={str(self.dtype).rpartition('.')[2]}, {self.tolist()}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self, self.trainable, self.name, None, self.constraint).requires_grad_(self.requires_grad)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _rebuilt, (self.detach(), self.trainable, self.name, self.constraint, self.requires_grad)


def _rebuilt(value: Tensor, trainable: bool, name: str, constraint: Any, requires_grad: bool) -> Variable:
    return Variable(value, trainable, name, None, constraint).requires_grad_(requires_grad)


def state_variable(value: Tensor, name: str) -> Variable:
    """Create a variable for state, which is never differentiated."""
    return Variable(value, False, name).requires_grad_(False)


def name_of(v: Any) -> str:
    """Return the name of a variable; for another tensor, a description."""
    return v.name if isinstance(v, Variable) else type(v).__name__


def described(v: Any) -> str:
    """Describe a variable for messages: name, shape, dtype."""
    if not isinstance(v, Tensor):
        return str(v)
    return f"<{type(v).__name__}{f' {v.name!r}' if isinstance(v, Variable) else ''} shape={tuple(v.shape)} dtype={str(v.dtype).rpartition('.')[2]}>"
