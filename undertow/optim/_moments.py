"""Helpers of Adam, NAdam and RAdam: weight decay, and the running mean and square of the gradient."""

from __future__ import annotations

from undertow._C import Tensor
from undertow.optim._elementwise import plus_decay

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def decay_constants(group: dict[str, Any], lr: Any) -> tuple[Any, Any]:
    """Return the factor of the parameter that is added to the gradient, and the factor by which the parameter shrinks.

    >>> decay_constants({"weight_decay": 0.5, "decoupled_weight_decay": True}, 0.1)
    (0.0, 0.95)
    """
    decay = group["weight_decay"]
    return (0.0, 1 - lr * decay) if group.get("decoupled_weight_decay", False) else (decay, 1.0)


def regularised(p: Tensor, g: Tensor, decay: Any, shrink: Any, sign: float) -> tuple[Tensor, Tensor]:
    """Return the parameter, shrunk, and the gradient with its sign and weight decay."""
    if isinstance(shrink, Tensor) or shrink != 1.0:
        p = p * shrink
    return p, plus_decay(g * sign, p, decay)


def next_moments(mean: Tensor, square: Tensor, g: Tensor, beta1: Any, beta2: Any, rest: Any) -> tuple[Tensor, Tensor]:
    """Return the running mean and square after this gradient; `rest` is 1 - beta2."""
    return mean + (g - mean) * (1 - beta1), square * beta2 + g * g * rest
