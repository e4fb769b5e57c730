"""Helpers of Adam, NAdam and RAdam: weight decay, and the running mean and square of the gradient."""

from __future__ import annotations

from undertow._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def decay_constants(group: dict[str, Any], lr: float) -> tuple[float, float]:
    """Return the factor of the parameter that is added to the gradient, and the factor by which the parameter shrinks.

    >>> decay_constants({"weight_decay": 0.5, "decoupled_weight_decay": True}, 0.1)
    (0.0, 0.95)
    """
    decay = group["weight_decay"]
    return (0.0, 1 - lr * decay) if group.get("decoupled_weight_decay", False) else (decay, 1.0)


def regularised(p: Tensor, g: Tensor, decay: float, shrink: float, sign: float) -> Tensor:
    """Shrink the parameter in place, and return the gradient with its sign and weight decay."""
    if shrink != 1.0:
        p.mul_(shrink)
    g = g * sign
    return g.add(p, alpha=decay) if decay else g


def update_moments(mean: Tensor, square: Tensor, g: Tensor, beta1: float, beta2: float, rest: float) -> None:
    """Update the running mean and square with the gradient, in place; `rest` is 1 - beta2."""
    mean.lerp_(g, 1 - beta1)
    square.mul_(beta2).addcmul_(g, g, value=rest)
