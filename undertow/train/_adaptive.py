"""Optimizers with a separate step size for each element: Adagrad, Adadelta, Adam, RMSProp."""

from __future__ import annotations

import math

import undertow
from undertow.train._native_update import NativeOptimizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from undertow._C import Tensor
    from undertow.train._slices import IndexedSlices


class AdagradOptimizer(NativeOptimizer):
    """accumulator += gradient²; var -= learning_rate * gradient / √accumulator. Slot: "accumulator"."""

    _algorithm = "adagrad"
    _slot_order = ("accumulator",)

    def __init__(self, learning_rate: Any, initial_accumulator_value: float = 0.1, use_locking: bool = False, name: str = "Adagrad") -> None:
        if not initial_accumulator_value > 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value

    def _create_slots(self, var_list: Sequence[Tensor]) -> None:
        for v in var_list:
            self._filled_slot(v, self._initial_accumulator_value, "accumulator", self._name)

    def _prepare(self) -> None:
        self._row = (self._number(self._learning_rate), 0.0, 0.0, 1.0)


class AdadeltaOptimizer(NativeOptimizer):
    """Adadelta: var -= learning_rate * update, where update = √(accum_update + epsilon) / √(accum + epsilon) * gradient.

    accum = rho * accum + (1 - rho) * gradient²; accum_update = rho * accum_update + (1 - rho) * update². Slots: "accum", "accum_update".
    """

    _algorithm = "adadelta"
    _slot_order = ("accum", "accum_update")

    def __init__(
        self, learning_rate: Any = 0.001, rho: Any = 0.95, epsilon: Any = 1e-8, use_locking: bool = False, name: str = "Adadelta"
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._rho, self._epsilon = learning_rate, rho, epsilon

    def _create_slots(self, var_list: Sequence[Tensor]) -> None:
        for v in var_list:
            self._zeros_slot(v, "accum", self._name)
            self._zeros_slot(v, "accum_update", self._name)

    def _prepare(self) -> None:
        self._row = (self._number(self._learning_rate), self._number(self._rho), self._number(self._epsilon), 0.0, 1.0)


class AdamOptimizer(NativeOptimizer):
    """Adam: var -= lr_t * m / (√v + epsilon), where m and v are the running means of the gradient and its square.

    lr_t = learning_rate * √(1 - beta2^t) / (1 - beta1^t): `epsilon` is the "epsilon hat" of the paper. A sparse gradient is zero in
    all other rows: the means decay everywhere, and every row is updated. Slots: "m", "v".
    """

    _algorithm = "adam"
    _slot_order = ("m", "v", None)

    def __init__(
        self, learning_rate: Any = 0.001, beta1: Any = 0.9, beta2: Any = 0.999, epsilon: Any = 1e-8, use_locking: bool = False, name: str = "Adam"
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._beta1, self._beta2, self._epsilon = learning_rate, beta1, beta2, epsilon

    def _create_slots(self, var_list: Sequence[Tensor]) -> None:
        for v in var_list:
            self._zeros_slot(v, "m", self._name)
            self._zeros_slot(v, "v", self._name)

    def _prepare(self) -> None:
        beta1, beta2 = self._betas = self._number(self._beta1), self._number(self._beta2)
        power1 = self._create_non_slot_variable(beta1, "beta1_power").item()
        power2 = self._create_non_slot_variable(beta2, "beta2_power").item()
        step = self._number(self._learning_rate) * math.sqrt(1 - power2) / (1 - power1)
        self._row = (step, beta1, beta2, self._number(self._epsilon), 0.0, 1.0, 1.0, 1.0, 1 - beta2)

    def _apply_sparse(self, grad: IndexedSlices, var: Tensor) -> None:
        dense = undertow.zeros_like(var, requires_grad=False)
        self._apply_dense(dense.index_copy_(0, grad.indices.to(undertow.int64), grad.values.to(var.dtype)), var)

    def _finish(self) -> None:
        for name, beta in zip(("beta1_power", "beta2_power"), self._betas, strict=True):
            self._non_slots[name].mul_(beta)


class RMSPropOptimizer(NativeOptimizer):
    """RMSProp: var -= mom, where mom = momentum * mom + learning_rate * gradient / √(mean_square + epsilon).

    mean_square = decay * mean_square + (1 - decay) * gradient². With `centered`, the square of the gradient's running mean is
    subtracted from the mean square. Slots: "rms", which starts at one, "momentum", and "mg" if centered.
    """

    _algorithm = "rmsprop_in_root"

    def __init__(
        self,
        learning_rate: Any,
        decay: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: Any = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._decay, self._momentum, self._epsilon = learning_rate, decay, momentum, epsilon
        self._centered = centered
        self._slot_order = ("rms", "momentum", "mg" if centered else None)

    def _create_slots(self, var_list: Sequence[Tensor]) -> None:
        for v in var_list:
            self._filled_slot(v, 1.0, "rms", self._name)
            if self._centered:
                self._zeros_slot(v, "mg", self._name)
            self._zeros_slot(v, "momentum", self._name)

    def _prepare(self) -> None:
        self._row = (self._number(self._learning_rate), self._number(self._decay), self._number(self._momentum), self._number(self._epsilon))
