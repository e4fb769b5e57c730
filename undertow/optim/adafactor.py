"""Adafactor: second moments of a matrix stored as one row and one column."""

from __future__ import annotations

import math

import undertow
from undertow._C import Tensor
from undertow.optim.optimizer import Optimizer, _fill_in, _number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["Adafactor"]


class Adafactor(Optimizer):
    """Adafactor: steps relative to the size of the parameters, along the gradient divided by its root mean square.

    For tensors with two or more dimensions, only the means of the squares over each of the last two dimensions are stored. `eps` is a
    lower bound of the mean square and of the parameters' size, `d` an upper bound of the size of an update.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for name, value, good in (
            ("Learning rate should be >= 0", lr, lr >= 0.0),
            ("beta2_decay should be <= 0", beta2_decay, beta2_decay <= 0.0),
            ("epsilon1 should be >= 0", eps[0], eps[0] is None or eps[0] >= 0.0),
            ("epsilon2 should be >= 0", eps[1], eps[1] >= 0.0),
            ("Clipping threshold d should be >= 1", d, d >= 1.0),
            ("weight_decay should be >= 0", weight_decay, weight_decay >= 0.0),
        ):
            if not good:
                raise ValueError(f"{name} but is: {value}")
        defaults = {"lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay}
        super().__init__(params, {**defaults, "foreach": foreach, "maximize": maximize})

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        _fill_in(self, {"foreach": None})

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Perform one step; return the result of `closure`, if given."""
        loss = self._loss_of(closure)
        with undertow.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        if p.grad.is_sparse:
                            raise RuntimeError("Adafactor does not support sparse gradients")
                        self._step_one(p, p.grad, group)
        return loss

    def _begin(self, p: Tensor) -> dict[str, Any]:
        state = self.state[p]
        state["step"] = undertow.tensor(0.0, dtype=undertow.float32)
        if p.dim() > 1:
            *batch, rows, columns = p.shape
            state["row_var"] = undertow.zeros((*batch, rows, 1), dtype=p.dtype)
            state["col_var"] = undertow.zeros((*batch, 1, columns), dtype=p.dtype)
        else:
            state["variance"] = undertow.zeros_like(p, memory_format=undertow.preserve_format)
        return state

    def _mean_square(self, g: Tensor, state: dict[str, Any], fresh: float, eps: float) -> Tensor:
        """Update the running mean square of the gradient with weight `fresh`, and return it."""
        if g.dim() <= 1:
            return state["variance"].lerp_(g * g, fresh)
        row, column = state["row_var"], state["col_var"]
        row.lerp_(g.norm(dim=-1, keepdim=True).square_().div_(g.size(-1)), fresh)
        column.lerp_(g.norm(dim=-2, keepdim=True).square_().div_(g.size(-2)), fresh)
        return (row @ column).div_(row.mean(dim=-2, keepdim=True).clamp_(min=eps))

    def _step_one(self, p: Tensor, g: Tensor, group: dict[str, Any]) -> None:
        if p.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        state = self.state[p] or self._begin(p)
        state["step"] += 1
        step, lr = state["step"].item(), _number(group["lr"])
        eps1, eps2 = group["eps"]
        if eps1 is None:
            eps1 = undertow.finfo(p.dtype).eps
        if group["maximize"]:
            g = -g
        size = math.sqrt(max(p.numel(), 1))
        rate = max(eps2, p.norm(2).item() / size) * min(lr, 1 / math.sqrt(step))
        if group["weight_decay"] != 0:
            p.mul_(1 - lr * group["weight_decay"])
        square = self._mean_square(g, state, step ** group["beta2_decay"], eps1)
        update = square.clamp(min=eps1 * eps1).rsqrt_().mul_(g)
        p.add_(update, alpha=-rate / max(1.0, update.norm(2).item() / (size * group["d"])))
