"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from undertow._C import Tensor
from undertow.optim import _operators
from undertow.optim._elementwise import Elementwise, hyper, options, plus_decay

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["SGD"]


class SGD(Elementwise):
    """p -= lr * gradient, or with `momentum` a running sum of gradients.

    >>> import undertow as ut
    >>> w = ut.tensor([1.0], requires_grad=True)
    >>> optimizer = ut.optim.SGD([w], lr=0.1)
    >>> (w * 3).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.7000], requires_grad=True)
    """

    _algorithm = "sgd"
    _counts_steps = False
    _since = {"nesterov": False, "maximize": False, "foreach": None, "differentiable": False, "fused": False}
    _counters = ()

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        defaults = options(locals(), check="lr momentum weight_decay")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, defaults)

    def _states(self, group: dict[str, Any]) -> list[str | None]:
        return ["momentum_buffer"] if group["momentum"] != 0 else []

    def _begin(self, p: Tensor, group: dict[str, Any], keys: list[str | None]) -> dict[str, Any]:
        if not keys:
            return self.state.get(p, {})
        state = super()._begin(p, group, keys)
        self._first.add(id(state))
        return state

    def _step_group(self, group: dict[str, Any]) -> None:
        self._first: set[int] = set()  # states created in this step, whose buffer becomes the gradient itself
        for p in group["params"]:
            state = self.state.get(p)
            if state and state.get("momentum_buffer", 0) is None:  # None in a state dict means no buffer
                del state["momentum_buffer"]
        super()._step_group(group)

    def _is_first(self, state: dict[str, Any]) -> bool:
        return id(state) in self._first

    def _same_for_all(self) -> bool:
        return not self._first

    def _constants(self, group: dict[str, Any], step: float, state: dict[str, Any]) -> tuple[Any, ...]:
        return (
            hyper(group["lr"], group),
            group["weight_decay"],
            group["momentum"],
            1 - group["dampening"],
            float(group["nesterov"]),
            -1.0 if group["maximize"] else 1.0,
            float(id(state) in self._first),
        )

    def _step_sparse(self, p: Tensor, g: Tensor, group: dict[str, Any]) -> None:
        if group["fused"]:
            raise RuntimeError("`_fused_sgd` does not support sparse gradients")
        state = self.state[p] if group["momentum"] else {}
        _operators.sgd(p, g, state, group, first="momentum_buffer" not in state)

    def _formula(self, p: Tensor, g: Tensor, states: list[Any], c: tuple[Any, ...]) -> tuple[Any, ...]:
        lr, decay, momentum, rest, nesterov, sign, first = c
        g = plus_decay(g * sign, p, decay)
        if not states:
            return (p - g * lr,)
        buffer = g.detach() if first else states[0] * momentum + g * rest
        return p - (g + buffer * momentum if nesterov else buffer) * lr, buffer
