"""RMSprop."""

from __future__ import annotations

from undertow._C import Tensor
from undertow.optim._elementwise import Elementwise, hyper, options, plus_decay

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["RMSprop"]


class RMSprop(Elementwise):
    """RMSprop: the gradient divided by the square root of its running mean square."""

    _algorithm = "rmsprop"
    _since = {"momentum": 0, "centered": False, **Elementwise._since}

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, options(locals(), check="lr eps momentum weight_decay alpha"))

    def _states(self, group: dict[str, Any]) -> list[str | None]:
        return ["square_avg", "momentum_buffer" if group["momentum"] > 0 else None, "grad_avg" if group["centered"] else None]

    def _constants(self, group: dict[str, Any], step: float, state: dict[str, Any]) -> tuple[Any, ...]:
        return (hyper(group["lr"], group), group["alpha"], group["eps"], group["weight_decay"], group["momentum"], -1.0 if group["maximize"] else 1.0)

    def _formula(self, p: Tensor, g: Tensor, states: list[Any], c: tuple[Any, ...]) -> tuple[Any, ...]:
        lr, alpha, eps, decay, momentum, sign = c
        square, buffer, mean = states
        g = plus_decay(g * sign, p, decay)
        square = square * alpha + g * g * (1 - alpha)
        variance = square
        if mean is not None:
            mean = mean + (g - mean) * (1 - alpha)
            variance = square - mean * mean
        by = g / (variance.sqrt() + eps)
        if buffer is not None:
            by = buffer = buffer * momentum + by
        return p - by * lr, square, buffer, mean
