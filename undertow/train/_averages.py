"""`ExponentialMovingAverage`: moving averages (shadows) of variables."""

from __future__ import annotations

import undertow
from undertow._C import Tensor
from undertow.train._operation import Operation
from undertow.train._slices import IndexedSlices
from undertow.train._state import StateHolder
from undertow.train._variable import Variable, name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class ExponentialMovingAverage(StateHolder):
    """Keeps moving averages of variables. Each `apply` updates the shadows: shadow -= (1 - decay) * (shadow - variable).

    With `num_updates`, a number, a tensor or a variable, the decay is at most (1 + num_updates) / (10 + num_updates), so that the
    average changes faster at first. The shadow of a variable starts at its value, that of another tensor at zero; `zero_debias` corrects
    the resulting bias.

    >>> import undertow as ut
    >>> v = ut.train.Variable(0.0, name="v")
    >>> ema = ut.train.ExponentialMovingAverage(0.75)
    >>> _ = ema.apply([v])
    >>> _ = v.assign(4.0)
    >>> _ = ema.apply([v])
    >>> ema.average(v)
    <Variable 'v/ExponentialMovingAverage' shape=() dtype=float32, 1.0>
    """

    def __init__(self, decay: Any, num_updates: Any = None, zero_debias: bool = False, name: str = "ExponentialMovingAverage") -> None:
        super().__init__()
        self._decay = decay
        self._num_updates = num_updates
        self._zero_debias = zero_debias
        self._name = name

    @property
    def name(self) -> str:
        """The name, used in the names of the shadows."""
        return self._name

    def _decay_now(self) -> float:
        decay = float(self._decay)
        if self._num_updates is None:
            return decay
        updates = float(self._num_updates)
        return min(decay, (1.0 + updates) / (10.0 + updates))

    @property
    def _averages(self) -> dict[Tensor, Variable]:
        return self._slots.get("average", {})

    def apply(self, var_list: Sequence[Tensor]) -> Operation:
        """Create missing shadows, and update all of them towards their variables. Done when this returns; `run()` does it once more."""
        var_list = list(var_list)
        decay = self._decay_now()
        with undertow.no_grad():
            for v in var_list:
                if isinstance(v, IndexedSlices) or not isinstance(v, Tensor):
                    raise TypeError(f"apply: expected variables or tensors, got {type(v).__name__}")
                if not v.dtype.is_floating_point:
                    raise TypeError(f"The variables must be half, float, or double: {name_of(v)} is {v.dtype}")
                self._move(v, decay)
        return Operation(self.name, lambda: self.apply(var_list))

    def _move(self, v: Tensor, decay: float) -> None:
        is_variable = isinstance(v, undertow.nn.Parameter)
        shadow = self._averages.get(v)
        if shadow is None:
            shadow = self._make_slot(v, v if is_variable else undertow.zeros_like(v), "average", self.average_name(v))
        if is_variable or not self._zero_debias:
            shadow.sub_((shadow - v) * (1 - decay))
            return
        biased = self._slots.get("biased", {}).get(v)
        if biased is None:
            biased = self._make_slot(v, undertow.zeros_like(v), "biased", f"{self.average_name(v)}/biased")
            rest = self._make_slot(v, undertow.ones((), dtype=undertow.float64), "initial_weight", f"{self.average_name(v)}/initial_weight")
        else:
            rest = self._slots["initial_weight"][v]
        biased.sub_((biased - v) * (1 - decay))
        rest.mul_(decay)  # the remaining weight of the initial zero
        shadow.copy_(biased / (1 - rest.item()))

    def average(self, var: Tensor) -> Variable | None:
        """Return the shadow of `var`, or None."""
        return self._averages.get(var)

    def average_name(self, var: Tensor) -> str:
        """Return the name of the shadow of `var`, whether it exists or not."""
        return f"{name_of(var)}/{self.name}"

    def variables_to_restore(self, moving_avg_variables: Sequence[Tensor] | None = None) -> dict[str, Tensor]:
        """Return a dict from names of shadows to the variables to restore: all variables with a shadow, or those given."""
        return {self.average_name(v): v for v in (self._averages if moving_avg_variables is None else moving_avg_variables)}
