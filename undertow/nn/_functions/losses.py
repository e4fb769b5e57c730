"""Losses. The common ones are operators of the core; the others are composed of operators."""

from __future__ import annotations

import math
import warnings

import undertow as ut
from undertow._C import Tensor, _ops
from undertow._functions.shape import broadcast_shapes, broadcast_tensors
from undertow._override import overridable
from undertow.nn._reduction import chosen, number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from undertow._C._functions import cosine_similarity, pairwise_distance
else:
    cosine_similarity, pairwise_distance = _ops["cosine_similarity"], _ops["pairwise_distance"]

__all__: list[str] = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "margin_ranking_loss",
    "mse_loss",
    "nll_loss",
    "pairwise_distance",
    "poisson_nll_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]

_nn = {name[4:]: fn for name, fn in _ops.items() if name.startswith("_nn.")}


def _reduced(loss: Tensor, reduction: str) -> Tensor:
    kind = number(reduction)
    return loss if kind == 0 else loss.mean() if kind == 1 else loss.sum()


def _broadcast(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    if input.shape == target.shape:
        return input, target
    warnings.warn(
        f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). "
        "This will likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
        stacklevel=3,
    )
    return broadcast_tensors(input, target)


def _weighted(loss: Tensor, weight: Tensor, input: Tensor, reduction: str, mean_over_weights: bool) -> Tensor:
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    loss = loss * weight
    if reduction == "none":
        return loss
    if reduction == "sum":
        return loss.sum()
    if reduction == "mean":
        return loss.sum() / weight.sum() if mean_over_weights else loss.mean()
    raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")


@overridable
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Mean squared error.

    >>> import undertow as ut
    >>> mse_loss(ut.tensor([1.0, 3.0]), ut.tensor([1.0, 1.0]))
    tensor(2.)
    """
    reduction = chosen(reduction, size_average, reduce)
    input, target = _broadcast(input, target)
    if weight is not None:
        return _weighted((input - target).pow(2), weight, input, reduction, mean_over_weights=True)
    return _nn["mse_loss"](input, target, number(reduction))


@overridable
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Mean absolute error."""
    reduction = chosen(reduction, size_average, reduce)
    input, target = _broadcast(input, target)
    if weight is not None:
        return _weighted((input - target).abs(), weight, input, reduction, mean_over_weights=True)
    return _nn["l1_loss"](input, target, number(reduction))


@overridable
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Smooth L1 loss: quadratic if `input` is within `beta` of `target`, linear beyond."""
    reduction = chosen(reduction, size_average, reduce)
    input, target = _broadcast(input, target)
    if beta == 0.0:
        return _nn["l1_loss"](input, target, number(reduction))
    return _nn["smooth_l1_loss"](input, target, number(reduction), beta)


@overridable
def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None) -> Tensor:
    """Huber loss: half the squared error if `input` is within `delta` of `target`, linear beyond."""
    input, target = _broadcast(input, target)
    if weight is None:
        return _nn["huber_loss"](input, target, number(reduction), delta)
    return _weighted(_nn["huber_loss"](input, target, 0, delta), weight, input, reduction, mean_over_weights=False)


@overridable
def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Tensor:
    """Soft margin loss: log(1 + exp(-target * input)), where target is 1 or -1."""
    return _nn["soft_margin_loss"](input, target, number(chosen(reduction, size_average, reduce)))


@overridable
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log likelihood of the target classes; `input` has log probabilities."""
    return _nn["nll_loss_nd"](input, target, weight, number(chosen(reduction, size_average, reduce)), ignore_index)


@overridable
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross entropy of softmax(input) with target classes or target probabilities.

    >>> import undertow as ut
    >>> cross_entropy(ut.zeros(1, 2), ut.tensor([0]))
    tensor(0.6931)
    """
    reduction = chosen(reduction, size_average, reduce)
    return _nn["cross_entropy_loss"](input, target, weight, number(reduction), ignore_index, label_smoothing)


@overridable
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Binary cross entropy of probabilities `input` with probabilities `target`."""
    reduction = chosen(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is deprecated. "
            "Please ensure they have the same size."
        )
    if weight is not None:
        weight = weight.expand(broadcast_shapes(target.size(), weight.size()))
    return _nn["binary_cross_entropy"](input, target, weight, number(reduction))


@overridable
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Binary cross entropy of sigmoid(input) with probabilities `target`."""
    reduction = chosen(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return _ops["binary_cross_entropy_with_logits"](input, target, weight, pos_weight, number(reduction))


@overridable
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Kullback-Leibler divergence of probabilities `target` from log probabilities `input`."""
    if size_average is not None or reduce is not None:
        reduction = chosen(reduction, size_average, reduce)
    elif reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
            "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
            stacklevel=2,
        )
    if log_target:
        loss = target.exp() * (target - input)
    else:
        product = target * input
        loss = ut.xlogy(target, target) - product
    if reduction == "batchmean":
        total = loss.sum()
        return total / input.size()[0] if input.dim() else total
    return _reduced(loss, reduction)


@overridable
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log likelihood of counts `target` under a Poisson distribution."""
    reduction = chosen(reduction, size_average, reduce)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not a valid value for reduction")
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return _reduced(loss, reduction)


@overridable
def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """Negative log likelihood of `target` under normal distributions with mean `input` and variance `var`."""
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * ut.ones_like(input)
    elif ut.any(var < 0):
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = var.unsqueeze(-1)
        elif not (input.ndim == var.ndim and sum(v for i, v in zip(input.size(), var.size(), strict=True) if i != v) == 1):
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    var = var.clone()
    with ut.no_grad():
        var.clamp_(min=eps)
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _reduced(loss, reduction)


@overridable
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Hinge embedding loss: `input` where `target` is 1, max(0, margin - input) where it is -1."""
    reduction = chosen(reduction, size_average, reduce)
    zeros = ut.zeros_like(input)
    far = ut.where(target != 1, (margin - input).clamp_min(0), zeros)
    near = ut.where(target != -1, input, zeros)
    return _reduced(far + near, reduction)


@overridable
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Margin ranking loss: max(0, -target * (input1 - input2) + margin)."""
    reduction = chosen(reduction, size_average, reduce)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return _reduced((-target * (input1 - input2) + margin).clamp_min(0), reduction)


@overridable
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Cosine embedding loss: 1 - cos(input1, input2) where `target` is 1, max(0, cos - margin) where it is -1."""
    reduction = chosen(reduction, size_average, reduce)
    if target.dim() not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if target.dim() == 1 and input1.dim() != 2:
        raise RuntimeError(f"1D target tensor expects 2D input tensors, but found inputs with sizes {input1.size()} and {input2.size()}.")
    if target.dim() == 0 and input1.dim() != 1:
        raise RuntimeError(f"0D target tensor expects 1D input tensors, but found inputs with sizes {input1.size()} and {input2.size()}.")
    dim = target.dim()
    tiny = 1e-12
    dot = (input1 * input2).sum(dim)
    norm1, norm2 = (input1 * input1).sum(dim) + tiny, (input2 * input2).sum(dim) + tiny
    cosine = dot / (norm1 * norm2).sqrt()
    zeros = ut.zeros_like(cosine)
    near = ut.where(target == 1, 1 - cosine, zeros)
    far = ut.where(target == -1, (cosine - margin).clamp_min(0), zeros)
    return _reduced(near + far, reduction)


def _triplet(
    anchor: Tensor, positive: Tensor, negative: Tensor, distance: Callable[[Tensor, Tensor], Tensor], margin: float, swap: bool, reduction: str
) -> Tensor:
    to_positive, to_negative = distance(anchor, positive), distance(anchor, negative)
    if swap:
        to_negative = ut.minimum(to_negative, distance(positive, negative))
    return _reduced((margin + to_positive - to_negative).clamp_min(0), reduction)


def _check_triplet(anchor: Tensor, positive: Tensor, negative: Tensor) -> None:
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.dim()}D, positive {positive.dim()}D, and negative {negative.dim()}D inputs"
        )


@overridable
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Triplet margin loss: max(0, margin + |anchor - positive| - |anchor - negative|)."""
    reduction = chosen(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    _check_triplet(anchor, positive, negative)
    return _triplet(anchor, positive, negative, lambda a, b: pairwise_distance(a, b, p, eps), margin, swap, reduction)


@overridable
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """Triplet margin loss with a custom distance function."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    _check_triplet(anchor, positive, negative)
    return _triplet(anchor, positive, negative, distance_function or pairwise_distance, margin, swap, reduction)
