"""Adagrad."""

from __future__ import annotations

import undertow
from undertow._C import Tensor
from undertow.optim._elementwise import Elementwise, hyper, options, plus_decay

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Adagrad"]


class Adagrad(Elementwise):
    """Adagrad: the gradient divided by the square root of the sum of its squares."""

    _algorithm = "adagrad"
    _since = {"foreach": None, "maximize": False, "differentiable": False, "fused": None}

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(params, options(locals(), check="lr lr_decay weight_decay initial_accumulator_value eps"))
        for group in self.param_groups:
            for p in group["params"]:
                self._begin(p, group, ["sum"])

    def _states(self, group: dict[str, Any]) -> list[str | None]:
        return ["sum"]

    def _fresh(self, key: str, p: Tensor, group: dict[str, Any]) -> Tensor:
        value = group["initial_accumulator_value"]
        return undertow.full_like(p, complex(value, value) if p.is_complex() else value, memory_format=undertow.preserve_format)

    def share_memory(self) -> None:
        """Move the state to shared memory."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()

    def _constants(self, group: dict[str, Any], step: float, state: dict[str, Any]) -> tuple[Any, ...]:
        lr = hyper(group["lr"], group) / (1 + (step - 1) * group["lr_decay"])
        return lr, group["eps"], group["weight_decay"], -1.0 if group["maximize"] else 1.0

    def _step_sparse(self, p: Tensor, g: Tensor, group: dict[str, Any]) -> None:
        if group["fused"]:
            raise RuntimeError("`fused` does not support sparse grad or complex param")
        if group["weight_decay"]:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        state = self.state[p]
        state["step"] += 1
        lr, eps, _, _ = self._constants(group, state["step"].item(), state)
        g = (-g if group["maximize"] else g).coalesce()  # the update is not linear, so every index must occur once
        at, values = g._indices(), g._values()
        state["sum"].add_(undertow.sparse_coo_tensor(at, values.pow(2), g.shape, is_coalesced=True))
        std = state["sum"].sparse_mask(g)._values().sqrt_().add_(eps)
        p.add_(undertow.sparse_coo_tensor(at, values / std, g.shape, is_coalesced=True), alpha=-lr)

    def _formula(self, p: Tensor, g: Tensor, states: list[Any], c: tuple[Any, ...]) -> tuple[Any, ...]:
        lr, eps, decay, sign = c
        g = plus_decay(g * sign, p, decay)
        total = states[0] + g * g
        return p - g / (total.sqrt() + eps) * lr, total
