"""Muon: orthogonalized momentum, for the matrices of hidden layers."""

from __future__ import annotations

import math

import undertow
from undertow._C import Tensor
from undertow.optim.optimizer import Optimizer, _number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["Muon"]

_LARGEST_STEPS = 100
_SCALES = {
    None: lambda rows, columns: math.sqrt(max(1, rows / columns)),
    "original": lambda rows, columns: math.sqrt(max(1, rows / columns)),
    "match_rms_adamw": lambda rows, columns: 0.2 * math.sqrt(max(rows, columns)),
}


def _orthogonal(update: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """Approximate the orthogonal matrix closest to `update`: the iteration x -> ax + bx³ + cx⁵ moves its singular values close to 1."""
    if steps >= _LARGEST_STEPS:
        raise ValueError(f"Number of steps must be less than {_LARGEST_STEPS} for computational efficiency")
    if update.dim() != 2:
        raise ValueError("Input tensor gradient must be a 2D matrix")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    x = update.bfloat16()
    tall = x.size(0) > x.size(1)
    if tall:
        x = x.t()
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.t()
        x = undertow.addmm(x, undertow.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.t() if tall else x


class Muon(Optimizer):
    """Muon: the momentum of a matrix, orthogonalized by a few Newton-Schulz iterations in bfloat16.

    Only for matrices: use another optimizer for biases, embeddings and so on. `adjust_lr_fn` scales the learning rate by the shape:
    "original" by √max(1, rows / columns), "match_rms_adamw" by 0.2 √max(rows, columns).
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for name, value in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
            if not value >= 0.0:
                raise ValueError(f"{name} should be >= 0 but is: {value}")
        if adjust_lr_fn not in _SCALES:
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(
            params,
            {
                "lr": lr,
                "weight_decay": weight_decay,
                "momentum": momentum,
                "nesterov": nesterov,
                "ns_coefficients": ns_coefficients,
                "eps": eps,
                "ns_steps": ns_steps,
                "adjust_lr_fn": adjust_lr_fn,
            },
        )
        for group in self.param_groups:
            for p in group["params"]:
                if p.dim() != 2:
                    raise ValueError(f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}")

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Perform one step; return the result of `closure`, if given."""
        loss = self._loss_of(closure)
        with undertow.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        if p.grad.is_sparse:
                            raise RuntimeError("Muon does not support sparse gradients")
                        self._step_one(p, p.grad, group)
        return loss

    def _step_one(self, p: Tensor, g: Tensor, group: dict[str, Any]) -> None:
        if p.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        state = self.state[p]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = undertow.zeros_like(g, memory_format=undertow.preserve_format)
        momentum, lr = group["momentum"], _number(group["lr"])
        buffer = state["momentum_buffer"].lerp_(g, 1 - momentum)
        update = g.lerp(buffer, momentum) if group["nesterov"] else buffer
        update = _orthogonal(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        p.mul_(1 - lr * group["weight_decay"])
        p.add_(update.to(p.dtype), alpha=-lr * _SCALES[group["adjust_lr_fn"]](*p.shape))
