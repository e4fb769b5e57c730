"""Adamax: Adam with the largest gradient instead of the mean square."""

from __future__ import annotations

import undertow
from undertow._C import Tensor
from undertow.optim._elementwise import Elementwise, hyper, options, plus_decay

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Adamax"]


class Adamax(Elementwise):
    """Adamax: the running mean of the gradient divided by its running maximum."""

    _algorithm = "adamax"

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super().__init__(params, options(locals(), check="lr eps betas weight_decay"))

    def _states(self, group: dict[str, Any]) -> list[str | None]:
        return ["exp_avg", "exp_inf"]

    def _constants(self, group: dict[str, Any], step: float, state: dict[str, Any]) -> tuple[Any, ...]:
        beta1, beta2 = group["betas"]
        return hyper(group["lr"], group) / (1 - beta1**step), beta1, beta2, group["eps"], group["weight_decay"], -1.0 if group["maximize"] else 1.0

    def _formula(self, p: Tensor, g: Tensor, states: list[Any], c: tuple[Any, ...]) -> tuple[Any, ...]:
        step_size, beta1, beta2, eps, decay, sign = c
        mean, most = states
        g = plus_decay(g * sign, p, decay)
        mean = mean + (g - mean) * (1 - beta1)
        most = undertow.maximum(most * beta2, g.abs() + eps)
        return p - mean / most * step_size, mean, most
