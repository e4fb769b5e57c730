"""Proximal updates: a gradient step, followed by the exact minimum of the penalty l1 * |var| + l2 * var² / 2 around it.

Without l1, TensorFlow's formulas leave out the clipping at zero; the results are the same. Computed with tensor operations, not natively.
"""

from __future__ import annotations

from undertow.train._native_update import NativeOptimizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from undertow._C import Tensor


def _shrunk(v: Tensor, by: Any) -> Tensor:
    """Move each element towards zero by `by`, at most to zero."""
    return v.sign() * (v.abs() - by).clamp(min=0)


def check_strengths(**strengths: float) -> None:
    """Raise if the strength of a penalty is negative or nan."""
    for name, value in strengths.items():
        if not value >= 0.0:
            raise ValueError(f"{name} {value} needs to be positive or zero")


class _Proximal(NativeOptimizer):
    """Base class: a learning rate, l1 and l2. The update is `_elements`, in place of a native algorithm."""

    def __init__(self, learning_rate: Any, l1: float, l2: float, use_locking: bool, name: str) -> None:
        super().__init__(use_locking, name)
        check_strengths(l1_regularization_strength=l1, l2_regularization_strength=l2)
        self._learning_rate, self._l1, self._l2 = learning_rate, l1, l2

    def _prepare(self) -> None:
        self._row = (self._number(self._learning_rate), float(self._l1), float(self._l2))


class ProximalGradientDescentOptimizer(_Proximal):
    """Gradient descent with l1 and l2 penalties that are not part of the loss; l1 makes elements exactly zero.

    ::

        step = var - learning_rate * gradient
        var  = sign(step) * max(|step| - learning_rate * l1, 0) / (1 + learning_rate * l2)

    >>> import undertow as ut
    >>> w = ut.train.Variable([1.0, 0.1], name="w")
    >>> opt = ut.train.ProximalGradientDescentOptimizer(0.5, l1_regularization_strength=0.5)
    >>> _ = opt.minimize(w.sum() * 0)
    >>> w
    <Variable 'w' shape=(2,) dtype=float32, [0.75, 0.0]>
    """

    def __init__(
        self,
        learning_rate: Any,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        super().__init__(learning_rate, l1_regularization_strength, l2_regularization_strength, use_locking, name)

    def _elements(self, p: Tensor, g: Tensor, states: list[Any]) -> None:
        rate, l1, l2 = self._row
        p.copy_(_shrunk(p.detach() - rate * g, rate * l1) / (1 + rate * l2))


class ProximalAdagradOptimizer(_Proximal):
    """Adagrad with l1 and l2 penalties, both scaled by the element's own rate::

        accumulator += gradient²
        rate = learning_rate / √accumulator
        step = var - rate * gradient
        var  = sign(step) * max(|step| - rate * l1, 0) / (1 + rate * l2)

    Slot: "accumulator".
    """

    _slot_order = ("accumulator",)

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ) -> None:
        if not initial_accumulator_value > 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(learning_rate, l1_regularization_strength, l2_regularization_strength, use_locking, name)
        self._initial_accumulator_value = initial_accumulator_value

    def _create_slots(self, var_list: Sequence[Tensor]) -> None:
        for v in var_list:
            self._filled_slot(v, self._initial_accumulator_value, "accumulator", self._name)

    def _elements(self, p: Tensor, g: Tensor, states: list[Any]) -> None:
        rate, l1, l2 = self._row
        (accumulator,) = states
        accumulator.add_(g * g)
        rates = rate / accumulator.sqrt()
        p.copy_(_shrunk(p.detach() - rates * g, rates * l1) / (1 + rates * l2))


class AdagradDAOptimizer(_Proximal):
    """Adagrad with dual averaging: the variable is computed from the sums of all gradients and of their squares::

        t = global_step + 1
        gradient_accumulator         += gradient
        gradient_squared_accumulator += gradient²
        a   = sign(gradient_accumulator) * max(|gradient_accumulator| - l1 * t, 0)
        var = -learning_rate * a / (√gradient_squared_accumulator + learning_rate * l2 * t)

    The initial value of the variable is therefore lost at its first update. Pass the same `global_step` to `minimize`. Slots:
    "gradient_accumulator", "gradient_squared_accumulator".
    """

    _slot_order = ("gradient_accumulator", "gradient_squared_accumulator")

    def __init__(
        self,
        learning_rate: Any,
        global_step: Any,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ) -> None:
        start = initial_gradient_squared_accumulator_value
        if not start > 0.0:
            raise ValueError(f"initial_gradient_squared_accumulator_value must be positive: {start}")
        super().__init__(learning_rate, l1_regularization_strength, l2_regularization_strength, use_locking, name)
        self._global_step = global_step
        self._initial_gradient_squared_accumulator_value = start

    def _create_slots(self, var_list: Sequence[Tensor]) -> None:
        for v in var_list:
            self._zeros_slot(v, "gradient_accumulator", self._name)
            start = self._initial_gradient_squared_accumulator_value
            self._filled_slot(v, start, "gradient_squared_accumulator", self._name)

    def _prepare(self) -> None:
        self._row = (self._number(self._learning_rate), float(self._l1), float(self._l2), self._number(self._global_step) + 1)

    def _elements(self, p: Tensor, g: Tensor, states: list[Any]) -> None:
        rate, l1, l2, t = self._row
        total, squares = states
        total.add_(g)
        squares.add_(g * g)
        p.copy_(_shrunk(total.detach(), l1 * t) * -rate / (squares.sqrt() + rate * l2 * t))
