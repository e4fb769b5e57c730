"""ASGD: averaged stochastic gradient descent."""

from __future__ import annotations

import undertow
from undertow._C import Tensor
from undertow.optim._elementwise import Elementwise, options
from undertow.optim.optimizer import _number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["ASGD"]


class ASGD(Elementwise):
    """Averaged stochastic gradient descent: also keeps an average of the parameters, in state `ax`."""

    _algorithm = "asgd"
    _on_device = "params, mus, etas, and state_steps"

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
        state["eta"] = undertow.tensor(_number(group["lr"]), dtype=undertow.float32)
        state["mu"] = undertow.tensor(1.0, dtype=undertow.float32)
        return state

    def _same_for_all(self) -> bool:
        return False

    def _constants(self, group: dict[str, Any], step: float, state: dict[str, Any]) -> tuple[float, ...]:
        lr, lambd = _number(group["lr"]), group["lambd"]
        row = (state["eta"].item(), lambd, group["weight_decay"], state["mu"].item(), -1.0 if group["maximize"] else 1.0)
        state["eta"].fill_(lr / (1 + lambd * lr * step) ** group["alpha"])
        state["mu"].fill_(1 / max(1.0, step - group["t0"]))
        return row

    def _formula(self, p: Tensor, g: Tensor, states: list[Any], c: tuple[float, ...]) -> None:
        eta, lambd, decay, mu, sign = c
        g = g * sign
        if decay:
            g = g.add(p, alpha=decay)
        p.mul_(1 - lambd * eta)
        p.add_(g, alpha=-eta)
        states[0].copy_(p) if mu == 1 else states[0].add_((p - states[0]) * mu)
