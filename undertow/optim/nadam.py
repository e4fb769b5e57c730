"""NAdam: Adam with Nesterov momentum."""

from __future__ import annotations

import undertow
from undertow._C import Tensor
from undertow.optim._elementwise import Elementwise, hyper, options
from undertow.optim._moments import decay_constants, next_moments, regularised

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["NAdam"]


class NAdam(Elementwise):
    """Adam with Nesterov momentum."""

    _algorithm = "nadam"
    _on_device = "params, mu_products and state_steps"
    _since = {**Elementwise._since, "decoupled_weight_decay": False}
    _counters = ("step", "mu_product")

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, options(locals(), check="lr eps betas weight_decay momentum_decay"))

    def _states(self, group: dict[str, Any]) -> list[str | None]:
        return ["exp_avg", "exp_avg_sq"]

    def _begin(self, p: Tensor, group: dict[str, Any], keys: list[str | None]) -> dict[str, Any]:
        state = super()._begin(p, group, keys)
        state["mu_product"] = undertow.tensor(1.0, dtype=undertow.float32)
        return state

    def _same_for_all(self) -> bool:
        return False

    def _constants(self, group: dict[str, Any], step: Any, state: dict[str, Any]) -> tuple[Any, ...]:
        lr, (beta1, beta2), psi = hyper(group["lr"], group), group["betas"], group["momentum_decay"]
        mu = beta1 * (1.0 - 0.5 * 0.96 ** (step * psi))
        mu_next = beta1 * (1.0 - 0.5 * 0.96 ** ((step + 1) * psi))
        state["mu_product"] *= mu
        product = state["mu_product"]
        if isinstance(step, Tensor):
            product = product.double()
        else:
            product = product.clone() if product.requires_grad else product.item()
        return (
            lr * (1.0 - mu) / (1.0 - product),
            lr * mu_next / (1.0 - product * mu_next),
            beta1,
            beta2,
            group["eps"],
            *decay_constants(group, lr),
            1 - beta2**step,
            -1.0 if group["maximize"] else 1.0,
            1 - beta2,
        )

    def _formula(self, p: Tensor, g: Tensor, states: list[Any], c: tuple[Any, ...]) -> tuple[Any, ...]:
        now, ahead, beta1, beta2, eps, decay, shrink, correction, sign, rest = c
        mean, square = states
        p, g = regularised(p, g, decay, shrink, sign)
        mean, square = next_moments(mean, square, g, beta1, beta2, rest)
        return p - (g * now + mean * ahead) / ((square / correction).sqrt() + eps), mean, square
