"""Steps of the common optimizers as the operators that torch calls for one parameter, in place.

They run where a `__torch_dispatch__` sees operators: under a mode, or for tensors whose class has one; SGD's also runs for sparse
gradients. Everywhere else the step is native.
"""

from __future__ import annotations

import sys

from undertow import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from undertow import Tensor


def are_seen(*tensors: Tensor) -> bool:
    """Return True if a `__torch_dispatch__` sees operators on these tensors."""
    return "undertow._aten" in sys.modules and (_C._is_dispatched(None) or any(map(_C._is_dispatched, tensors)))


def sgd(p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any], first: bool) -> None:
    """One step of SGD, also with a sparse gradient; `first` says that there is no momentum buffer yet, or that its content is not defined."""
    momentum = group["momentum"]
    g = _signed(p, g, group)
    if momentum:
        if first:
            buffer = state["momentum_buffer"] = g.detach().clone()
        else:
            buffer = state["momentum_buffer"]
            buffer.mul_(momentum).add_(g, alpha=1 - group["dampening"])
        g = g.add(buffer, alpha=momentum) if group["nesterov"] else buffer
    p.add_(g, alpha=-_number(group["lr"]))


def adam(p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any], first: bool) -> None:
    """One step of Adam or AdamW."""
    beta1, beta2 = map(_number, group["betas"])
    lr = _number(group["lr"])
    state["step"] += 1
    if group["decoupled_weight_decay"]:
        g = -g if group["maximize"] else g
        if group["weight_decay"]:
            p.mul_(1 - lr * group["weight_decay"])
    else:
        g = _signed(p, g, group)
    state["exp_avg"].lerp_(g, 1 - beta1)
    state["exp_avg_sq"].mul_(beta2).addcmul_(g, g, value=1 - beta2)
    step = state["step"].item()
    largest = state["exp_avg_sq"]
    if group["amsgrad"]:
        largest = state["max_exp_avg_sq"]
        largest.copy_(largest.maximum(state["exp_avg_sq"]))
    denominator = (largest.sqrt() / (1 - beta2**step) ** 0.5).add_(group["eps"])
    p.addcdiv_(state["exp_avg"], denominator, value=-lr / (1 - beta1**step))


def rmsprop(p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any], first: bool) -> None:
    """One step of RMSprop."""
    alpha = group["alpha"]
    state["step"] += 1
    g = _signed(p, g, group)
    square = state["square_avg"]
    square.mul_(alpha).addcmul_(g, g, value=1 - alpha)
    if group["centered"]:
        mean = state["grad_avg"]
        mean.lerp_(g, 1 - alpha)
        average = square.addcmul(mean, mean, value=-1).sqrt_()
    else:
        average = square.sqrt()
    average = average.add_(group["eps"])
    if group["momentum"] > 0:
        state["momentum_buffer"].mul_(group["momentum"]).addcdiv_(g, average)
        p.add_(state["momentum_buffer"], alpha=-_number(group["lr"]))
    else:
        p.addcdiv_(g, average, value=-_number(group["lr"]))


def adagrad(p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any], first: bool) -> None:
    """One step of Adagrad."""
    state["step"] += 1
    step = state["step"].item()
    g = _signed(p, g, group)
    lr = _number(group["lr"]) / (1 + (step - 1) * group["lr_decay"])
    state["sum"].addcmul_(g, g, value=1)
    p.addcdiv_(g, state["sum"].sqrt().add_(group["eps"]), value=-lr)


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, _C.Tensor) else value


def _signed(p: Tensor, g: Tensor, group: dict[str, Any]) -> Tensor:
    """Return the gradient, with its sign and weight decay."""
    g = -g if group["maximize"] else g
    return g.add(p, alpha=group["weight_decay"]) if group["weight_decay"] else g


STEPS: dict[str, Callable[..., None]] = {"sgd": sgd, "adam": adam, "rmsprop": rmsprop, "adagrad": adagrad}
