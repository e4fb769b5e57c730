"""Rprop: resilient propagation."""

from __future__ import annotations

import undertow
from undertow._C import Tensor
from undertow.optim._elementwise import Elementwise, hyper, options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Rprop"]


class Rprop(Elementwise):
    """Rprop: each element has its own step size, and only the sign of the gradient is used."""

    _algorithm = "rprop"

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, options(locals(), check="lr etas"))

    def _states(self, group: dict[str, Any]) -> list[str | None]:
        return ["prev", "step_size"]

    def _fresh(self, key: str, p: Tensor, group: dict[str, Any]) -> Tensor:
        if key == "prev":
            return super()._fresh(key, p, group)
        lr = hyper(group["lr"], group)
        if isinstance(lr, Tensor):
            return undertow.zeros_like(p) + lr.squeeze() * (1 + 1j if p.is_complex() else 1)
        return undertow.full_like(p, complex(lr, lr) if p.is_complex() else lr)

    def _constants(self, group: dict[str, Any], step: float, state: dict[str, Any]) -> tuple[Any, ...]:
        return *group["etas"], *group["step_sizes"], -1.0 if group["maximize"] else 1.0

    def _formula(self, p: Tensor, g: Tensor, states: list[Any], c: tuple[Any, ...]) -> tuple[Any, ...]:
        minus, plus, least, most, sign = c
        previous, size = states
        g = g * sign
        turn = g * previous
        size = (size * undertow.ones_like(g).masked_fill(turn > 0, plus).masked_fill(turn < 0, minus)).clamp(least, most)
        g = g.masked_fill(turn < 0, 0.0)
        return p - g.sign() * size, g, size
