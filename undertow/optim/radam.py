"""RAdam: Adam with a rectified variance in the first steps."""

from __future__ import annotations

import undertow
from undertow._C import Tensor
from undertow.optim._elementwise import Elementwise, hyper, options, root
from undertow.optim._moments import decay_constants, next_moments, regularised

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["RAdam"]


class RAdam(Elementwise):
    """Adam that uses plain momentum in the first steps, while the variance estimate is unreliable."""

    _algorithm = "radam"
    _since = {**Elementwise._since, "decoupled_weight_decay": False}

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, options(locals(), check="lr eps betas weight_decay"))

    def _states(self, group: dict[str, Any]) -> list[str | None]:
        return ["exp_avg", "exp_avg_sq"]

    def _constants(self, group: dict[str, Any], step: Any, state: dict[str, Any]) -> tuple[Any, ...]:
        lr, (beta1, beta2) = hyper(group["lr"], group), group["betas"]
        correction = 1 - beta2**step
        most = 2 / (1 - beta2) - 1  # length of the longest moving average
        now = most - 2 * step * beta2**step / correction
        rectified: Any = 0.0
        on_device = isinstance(step, Tensor)  # then both cases are computed
        if (most if on_device else now) > 5.0:
            rectified = root((now - 4) * (now - 2) * most / ((most - 4) * (most - 2) * now)) * root(correction)
            if on_device:
                rectified = undertow.where(now > 5.0, rectified, 0.0)
        return (
            lr / (1 - beta1**step),
            beta1,
            beta2,
            group["eps"],
            *decay_constants(group, lr),
            rectified,
            -1.0 if group["maximize"] else 1.0,
            1 - beta2,
        )

    def _formula(self, p: Tensor, g: Tensor, states: list[Any], c: tuple[Any, ...]) -> tuple[Any, ...]:
        step_size, beta1, beta2, eps, decay, shrink, rectified, sign, rest = c
        mean, square = states
        p, g = regularised(p, g, decay, shrink, sign)
        mean, square = next_moments(mean, square, g, beta1, beta2, rest)
        by = mean * step_size
        if isinstance(rectified, Tensor) or rectified:
            by = by * (rectified / (square.sqrt() + eps))
        return p - by, mean, square
