"""`Variable`: a leaf of the graph with a name, that optimizers of this package change in place."""

from __future__ import annotations

import itertools

import undertow
from undertow import _C
from undertow._C import Parameter, Tensor
from undertow.train._slices import IndexedSlices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_unnamed = itertools.count()


class Variable(Parameter):
    """A tensor with a name. `constraint` maps its value to the one it must have after an optimizer's step.

    `trainable=False` keeps it out of the variables an optimizer collects by itself; asked for by name, its gradient is there.

    >>> import undertow as ut
    >>> w = ut.train.Variable([3.0, -4.0], name="w", constraint=lambda v: v.clamp(min=0))
    >>> ut.train.GradientDescentOptimizer(0.5).minimize((w * w).sum() / 2 + w.sum())
    >>> w
    <Variable 'w' shape=(2,) dtype=float32, [1.0, 0.0]>
    >>> w.assign_add([1.0, 1.0]).tolist()
    [2.0, 1.0]
    """

    if not TYPE_CHECKING:  # checkers know Tensor's, which has the same arguments
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
        return self

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @property
    def trainable(self) -> bool:
        """Do optimizers collect it by themselves?"""
        return self._trainable

    @property
    def constraint(self) -> Callable[[Tensor], Tensor] | None:
        """What holds after every step of an optimizer."""
        return self._constraint

    def value(self) -> Tensor:
        """Its value as a tensor of the graph."""
        return self.view_as(self)

    read_value = value

    def _fitting(self, value: Any, what: str) -> Tensor:
        found = value.detach() if isinstance(value, Tensor) else undertow.tensor(value, dtype=self.dtype)
        if found.shape != self.shape:
            raise ValueError(f"{what}: shapes must be equal: variable {self.name!r} has shape {tuple(self.shape)}, the value {tuple(found.shape)}")
        return found

    def assign(self, value: Any) -> Variable:
        """Takes the value of `value`, which has its shape; returns the variable."""
        with undertow.no_grad():
            self.copy_(self._fitting(value, "assign"))
        return self

    def assign_add(self, delta: Any) -> Variable:
        """Adds `delta`; returns the variable."""
        with undertow.no_grad():
            self.add_(self._fitting(delta, "assign_add"))
        return self

    def assign_sub(self, delta: Any) -> Variable:
        """Subtracts `delta`; returns the variable."""
        with undertow.no_grad():
            self.sub_(self._fitting(delta, "assign_sub"))
        return self

    def scatter_add(self, sparse_delta: IndexedSlices) -> Variable:  # type: ignore[override]  # as TensorFlow has it
        """Adds rows; an index that comes twice is added twice."""
        with undertow.no_grad():
            self.index_add_(0, sparse_delta.indices.to(undertow.int64), sparse_delta.values)
        return self

    def scatter_sub(self, sparse_delta: IndexedSlices) -> Variable:
        """Subtracts rows."""
        return self.scatter_add(-sparse_delta)

    def scatter_update(self, sparse_delta: IndexedSlices) -> Variable:
        """Replaces rows."""
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
    """A variable that keeps a state: it is never differentiated."""
    return Variable(value, False, name).requires_grad_(False)


def name_of(v: Any) -> str:
    """The name of a variable; of another tensor, what it is."""
    return v.name if isinstance(v, Variable) else type(v).__name__


def described(v: Any) -> str:
    """A variable for messages: name, shape, dtype."""
    if not isinstance(v, Tensor):
        return str(v)
    return f"<{type(v).__name__}{f' {v.name!r}' if isinstance(v, Variable) else ''} shape={tuple(v.shape)} dtype={str(v.dtype).rpartition('.')[2]}>"
