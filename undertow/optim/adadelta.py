"""Adadelta."""

from __future__ import annotations

from undertow._C import Tensor
from undertow.optim._elementwise import Elementwise, hyper, options, plus_decay

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Adadelta"]


class Adadelta(Elementwise):
    """Adadelta: the step size is the ratio of the running RMS of past updates to that of past gradients."""

    _algorithm = "adadelta"

    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, options(locals(), check="lr rho eps weight_decay"))

    def _states(self, group: dict[str, Any]) -> list[str | None]:
        return ["square_avg", "acc_delta"]

    def _constants(self, group: dict[str, Any], step: float, state: dict[str, Any]) -> tuple[Any, ...]:
        return hyper(group["lr"], group), group["rho"], group["eps"], group["weight_decay"], -1.0 if group["maximize"] else 1.0

    def _formula(self, p: Tensor, g: Tensor, states: list[Any], c: tuple[Any, ...]) -> tuple[Any, ...]:
        lr, rho, eps, decay, sign = c
        square, delta = states
        g = plus_decay(g * sign, p, decay)
        square = square * rho + g * g * (1 - rho)
        by = (delta + eps).sqrt() / (square + eps).sqrt() * g
        return p - by * lr, square, delta * rho + by * by * (1 - rho)
