"""Adam."""

from __future__ import annotations

import undertow
from undertow._C import Tensor
from undertow.optim._elementwise import Elementwise, hyper, options, root
from undertow.optim._moments import decay_constants, next_moments, regularised

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Adam"]


def check_tensor(name: str, value: Any, foreach: Any, capturable: bool) -> None:
    """Raise for a tensor as an option if torch's foreach implementation does not support it."""
    if isinstance(value, Tensor) and foreach and not capturable:
        raise ValueError(f"{name} as a Tensor is not supported for capturable=False and foreach=True")


class Adam(Elementwise):
    """Adam: the running mean of the gradient divided by the square root of its running square.

    `weight_decay` is added to the gradient, or with `decoupled_weight_decay` shrinks the parameters directly, as in AdamW.
    """

    _algorithm = "adam"
    _since = {**Elementwise._since, "amsgrad": False, "decoupled_weight_decay": False, "fused": None}

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: Any = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_tensor("lr", lr, foreach, capturable)
        defaults = options(locals(), check="lr eps betas weight_decay")
        if isinstance(betas[0], Tensor) != isinstance(betas[1], Tensor):
            raise ValueError("betas must be either both floats or both Tensors")
        for i, beta in enumerate(betas):
            check_tensor(f"betas[{i}]", beta, foreach, capturable)
        defaults["betas"] = tuple(b.squeeze() if isinstance(b, Tensor) else b for b in betas)
        super().__init__(params, defaults)

    def _states(self, group: dict[str, Any]) -> list[str | None]:
        return ["exp_avg", "exp_avg_sq", "max_exp_avg_sq" if group["amsgrad"] else None]

    def _constants(self, group: dict[str, Any], step: float, state: dict[str, Any]) -> tuple[Any, ...]:
        lr = hyper(group["lr"], group)
        beta1, beta2 = (hyper(b, group) for b in group["betas"])
        return (
            lr / (1 - beta1**step),
            beta1,
            beta2,
            group["eps"],
            *decay_constants(group, lr),
            root(1 - beta2**step),
            -1.0 if group["maximize"] else 1.0,
            1 - beta2,
        )

    def _formula(self, p: Tensor, g: Tensor, states: list[Any], c: tuple[Any, ...]) -> tuple[Any, ...]:
        step_size, beta1, beta2, eps, decay, shrink, correction, sign, rest = c
        mean, square, most = states
        p, g = regularised(p, g, decay, shrink, sign)
        mean, square = next_moments(mean, square, g, beta1, beta2, rest)
        if most is not None:
            most = undertow.maximum(most, square)
        largest = square if most is None else most
        return p - mean / (largest.sqrt() / correction + eps) * step_size, mean, square, most
