"""What Adam, NAdam and RAdam share: weight decay, and the running mean and square of the gradient."""

from __future__ import annotations

from undertow._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def decay_constants(group: dict[str, Any], lr: float) -> tuple[float, float]:
    """What is added to the gradient for each unit of the parameter, and by what the parameter itself shrinks.

    >>> decay_constants({"weight_decay": 0.5, "decoupled_weight_decay": True}, 0.1)
    (0.0, 0.95)
    """
    decay = group["weight_decay"]
    return (0.0, 1 - lr * decay) if group.get("decoupled_weight_decay", False) else (decay, 1.0)


def regularised(p: Tensor, g: Tensor, decay: float, shrink: float, sign: float) -> Tensor:
    """Shrinks the parameter, in place, and gives the gradient with its sign and the decay's part."""
    if shrink != 1.0:
        p.mul_(shrink)
    g = g * sign
    return g.add(p, alpha=decay) if decay else g


def update_moments(mean: Tensor, square: Tensor, g: Tensor, beta1: float, beta2: float, rest: float) -> None:
    """Moves the running mean and square towards the gradient's, in place; `rest` is 1 - beta2."""
    mean.lerp_(g, 1 - beta1)
    square.mul_(beta2).addcmul_(g, g, value=rest)
