"""ASGD: averaged stochastic gradient descent."""

from __future__ import annotations

import undertow
from undertow._C import Tensor
from undertow.optim._elementwise import Elementwise, hyper, options, plus_decay

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["ASGD"]


class ASGD(Elementwise):
    """Averaged stochastic gradient descent: also keeps an average of the parameters, in state `ax`."""

    _algorithm = "asgd"
    _on_device = "params, mus, etas, and state_steps"
    _counters = ("step", "eta", "mu")

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super().__init__(params, options(locals(), check="lr weight_decay"))

    def _states(self, group: dict[str, Any]) -> list[str | None]:
        return ["ax"]

    def _begin(self, p: Tensor, group: dict[str, Any], keys: list[str | None]) -> dict[str, Any]:
        state = super()._begin(p, group, keys)
        lr = hyper(group["lr"], group)
        state["eta"] = lr.squeeze().to(undertow.float32, copy=True) if isinstance(lr, Tensor) else undertow.tensor(lr, dtype=undertow.float32)
        state["mu"] = undertow.tensor(1.0, dtype=undertow.float32)
        return state

    def _same_for_all(self) -> bool:
        return False

    def _constants(self, group: dict[str, Any], step: Any, state: dict[str, Any]) -> tuple[Any, ...]:
        lr, lambd, eta = hyper(group["lr"], group), group["lambd"], state["eta"]
        sign = -1.0 if group["maximize"] else 1.0
        then = lr / (1 + lambd * lr * step) ** group["alpha"]
        if isinstance(step, Tensor):
            row = (eta.double(), lambd, group["weight_decay"], state["mu"].double(), sign)
            eta.copy_(then)
            state["mu"].copy_(1 / (step - group["t0"]).clamp(min=1.0))
            return row
        now = eta.clone() if eta.requires_grad else eta.item()
        row = (now, lambd, group["weight_decay"], state["mu"].item(), sign)
        eta.copy_(then.squeeze()) if isinstance(then, Tensor) else eta.fill_(then)
        state["mu"].fill_(1 / max(1.0, step - group["t0"]))
        return row

    def _formula(self, p: Tensor, g: Tensor, states: list[Any], c: tuple[Any, ...]) -> tuple[Any, ...]:
        eta, lambd, decay, mu, sign = c
        p = p * (1 - lambd * eta) - plus_decay(g * sign, p, decay) * eta
        return p, p if mu == 1 else states[0] + (p - states[0]) * mu
