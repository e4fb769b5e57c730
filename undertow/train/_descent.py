"""Gradient descent, plain and with momentum."""

from __future__ import annotations

from undertow.train._native_update import NativeOptimizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from undertow._C import Tensor


class GradientDescentOptimizer(NativeOptimizer):
    """var -= learning_rate * gradient."""

    _algorithm = "sgd"
    _slot_order = (None,)

    def __init__(self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent") -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate

    def _prepare(self) -> None:
        self._row = (self._number(self._learning_rate), 0.0, 0.0, 1.0, 0.0, 1.0, 0.0)


class MomentumOptimizer(NativeOptimizer):
    """accumulation = momentum * accumulation + gradient; var -= learning_rate * accumulation.

    With `use_nesterov`, var -= learning_rate * (gradient + momentum * accumulation). Slot: "momentum".
    """

    _algorithm = "sgd"
    _slot_order = ("momentum",)

    def __init__(self, learning_rate: Any, momentum: Any, use_locking: bool = False, name: str = "Momentum", use_nesterov: bool = False) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._use_nesterov = use_nesterov

    def _create_slots(self, var_list: Sequence[Tensor]) -> None:
        for v in var_list:
            self._zeros_slot(v, "momentum", self._name)

    def _prepare(self) -> None:
        self._row = (self._number(self._learning_rate), 0.0, self._number(self._momentum), 1.0, float(self._use_nesterov), 1.0, 0.0)
