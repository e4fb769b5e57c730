"""Losses over several classes or labels, composed of other operators."""

from __future__ import annotations

import undertow as ut
from undertow._C import Tensor, _ops
from undertow._override import overridable
from undertow.nn._reduction import chosen, number

__all__: list[str] = ["multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss"]


def _reduced(loss: Tensor, reduction: str) -> Tensor:
    kind = number(reduction)
    return loss if kind == 0 else loss.mean() if kind == 1 else loss.sum()


def _check_labels(target: Tensor) -> None:
    if target.dtype != ut.int64:
        raise RuntimeError(f"expected scalar type Long but found {target.type().rpartition('.')[2].removesuffix('Tensor')}")


@overridable
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Multi-class margin loss: the mean over the other classes of max(0, margin - input[target] + input[other]) ** p.

    >>> import undertow as ut
    >>> multi_margin_loss(ut.tensor([[1.0, 0.5]]), ut.tensor([0]))
    tensor(0.2500)
    """
    reduction = chosen(reduction, size_average, reduce)
    number(reduction)  # raises if invalid
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    single = input.dim() < 2
    rows = input.reshape([1, -1]) if single else input.contiguous()  # so that the gradient is row-major, as in torch
    if rows.dim() != 2 or rows.size(1) == 0:
        raise RuntimeError(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}")
    labels = target.reshape([-1])
    if target.dim() > 1 or labels.numel() != rows.size(0):
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). "
            f"Expected target size [{rows.size(0)}], but got {list(target.shape)}. Input has shape {list(input.shape)}."
        )
    if weight is not None and weight.numel() != rows.size(1):
        raise RuntimeError(f"inconsistent weight size, expected {rows.size(1)} but got {list(weight.shape)}")
    _check_labels(target)
    if bool(((labels < 0) | (labels >= rows.size(1))).any()):
        raise RuntimeError("target out of range")
    at = labels.unsqueeze(1)
    off = (margin - rows.gather(1, at) + rows).clamp_min(0)
    if p == 2:
        off = off * off
    if weight is not None:
        off = off * weight[labels].unsqueeze(1)
    loss = off.scatter(1, at, 0.0).sum(1) / rows.size(1)
    return _reduced(loss.reshape(target.shape), reduction)


@overridable
def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Tensor:
    """Multi-label margin loss: the sum over labels and non-labels of max(0, 1 - input[label] + input[other]), divided by the number of classes.

    `target` lists the labels of each row, terminated by -1 if there are fewer labels than classes.
    """
    reduction = chosen(reduction, size_average, reduce)
    number(reduction)  # raises if invalid
    if input.dim() > 2 or (input.numel() == 0 and input.dim() < 2) or input.shape[-1:] == (0,):
        raise RuntimeError(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}")
    single = input.dim() < 2
    rows, labels = (input.reshape([1, -1]), target.reshape([1, -1])) if single else (input, target)
    if rows.shape != labels.shape:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    _check_labels(target)
    if bool(((labels < -1) | (labels >= rows.size(1))).any()):
        raise RuntimeError("target out of range")
    listed = (labels >= 0).long().cumprod(1) > 0
    at = labels.clamp_min(0)
    is_label = ut.zeros_like(labels).scatter_add(1, at, listed.long()) > 0
    off = (1 - rows.gather(1, at).unsqueeze(2) + rows.unsqueeze(1)).clamp_min(0)
    counted = listed.unsqueeze(2) & ~is_label.unsqueeze(1)
    loss = off.masked_fill(~counted, 0.0).sum((1, 2)) / rows.size(1)
    return _reduced(loss.squeeze(0) if single else loss, reduction)


@overridable
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Multi-label soft margin loss: the mean over classes of the binary cross entropy of sigmoid(input) with `target`."""
    reduction = chosen(reduction, size_average, reduce)
    log_sigmoid = _ops["nn.functional.logsigmoid"]
    loss = -(target * log_sigmoid(input) + (1 - target) * log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return _reduced(loss.sum(-1) / input.size(-1), reduction)
