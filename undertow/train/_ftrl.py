"""Follow the regularized leader."""

from __future__ import annotations

from undertow.train._native_update import NativeOptimizer
from undertow.train._proximal import check_strengths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from undertow._C import Tensor


class FtrlOptimizer(NativeOptimizer):
    """FTRL-Proximal: each element solves its own small optimization problem, and is exactly zero where `l1` dominates.

    With p = -learning_rate_power and shrunk = gradient + 2 * l2_shrinkage * var::

        linear += shrunk - ((accum + gradient²)^p - accum^p) / learning_rate * var
        accum  += gradient²
        var     = (sign(linear) * l1 - linear) / ((accum^p + beta) / learning_rate + 2 * l2)   where |linear| > l1, else 0

    Slots: "accum", "linear".
    """

    _algorithm = "ftrl"
    _slot_order = ("accum", "linear")

    def __init__(
        self,
        learning_rate: Any,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float | None = None,
    ) -> None:
        super().__init__(use_locking, name)
        if initial_accumulator_value < 0.0:
            raise ValueError(f"initial_accumulator_value {initial_accumulator_value} needs to be positive or zero")
        if learning_rate_power > 0.0:
            raise ValueError(f"learning_rate_power {learning_rate_power} needs to be negative or zero")
        check_strengths(
            l1_regularization_strength=l1_regularization_strength,
            l2_regularization_strength=l2_regularization_strength,
            l2_shrinkage_regularization_strength=l2_shrinkage_regularization_strength,
        )
        self._learning_rate = learning_rate
        self._learning_rate_power = learning_rate_power
        self._initial_accumulator_value = initial_accumulator_value
        self._strengths = (l1_regularization_strength, l2_regularization_strength, beta or 0.0, l2_shrinkage_regularization_strength)
        self._accum_name, self._linear_name = accum_name, linear_name

    def _create_slots(self, var_list: Sequence[Tensor]) -> None:
        for v in var_list:
            self._filled_slot(v, self._initial_accumulator_value, "accum", self._accum_name or self._name)
            self._zeros_slot(v, "linear", self._linear_name or self._name)

    def _prepare(self) -> None:
        self._row = (self._number(self._learning_rate), -float(self._learning_rate_power), *self._strengths)
