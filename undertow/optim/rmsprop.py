"""RMSprop."""

from __future__ import annotations

from undertow._C import Tensor
from undertow.optim._elementwise import Elementwise, options
from undertow.optim.optimizer import _number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["RMSprop"]


class RMSprop(Elementwise):
    """RMSprop: the gradient divided by the square root of its running mean square."""

    _algorithm = "rmsprop"

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

    def _constants(self, group: dict[str, Any], step: float, state: dict[str, Any]) -> tuple[float, ...]:
        return (_number(group["lr"]), group["alpha"], group["eps"], group["weight_decay"], group["momentum"], -1.0 if group["maximize"] else 1.0)

    def _formula(self, p: Tensor, g: Tensor, states: list[Any], c: tuple[float, ...]) -> None:
        lr, alpha, eps, decay, momentum, sign = c
        square, buffer, mean = states
        g = g * sign
        if decay:
            g = g.add(p, alpha=decay)
        square.mul_(alpha).addcmul_(g, g, value=1 - alpha)
        if mean is not None:
            mean.lerp_(g, 1 - alpha)
            root = square.addcmul(mean, mean, value=-1).sqrt().add(eps)
        else:
            root = square.sqrt().add(eps)
        if buffer is None:
            p.addcdiv_(g, root, value=-lr)
        else:
            buffer.mul_(momentum).addcdiv_(g, root)
            p.add_(buffer, alpha=-lr)
