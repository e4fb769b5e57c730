"""Batching rules of losses: compute the elements of each sample, then its mean or sum."""

from __future__ import annotations

import undertow
from undertow import _C
from undertow._vmap._dispatch import batched, rule
from undertow._vmap._pointwise import pad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor
    from undertow._vmap._dispatch import Operator
    from undertow._vmap._levels import Level

_NONE, _MEAN = 0, 1


@rule("loss")
def loss(op: Operator, level: Level, args: list[Any]) -> Any:
    args = list(args)
    at = op.names.index("reduction")
    reduction = args[at]
    args[at] = _NONE
    rank = max(t.dim() for t in args if isinstance(t, _C.Tensor))
    args = [pad(batched(t, level), rank - t.dim()) if isinstance(t, _C.Tensor) else t for t in args]
    each = op(*args)
    if reduction == _NONE:
        return each
    each = each.flatten(1) if rank else each.unsqueeze(1)
    return each.mean(1) if reduction == _MEAN else each.sum(1)


def _class_dim(rank: int) -> int:
    return 0 if rank == 1 else 1


def _weights(target: Tensor, weight: Tensor | None, ignored: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Return the class of every target (a valid one for ignored targets) and its weight (0 for ignored targets)."""
    counts = target != ignored
    classes = undertow.where(counts, target, 0)
    if weight is None:
        return classes, counts.to(like.dtype)
    # The operator has no gradient with respect to the weights.
    return classes, weight.detach().index_select(0, classes.reshape(-1)).reshape(classes.shape) * counts


@rule("nll_loss", logical=True)
def nll_loss(op: Operator, level: Level, args: list[Any]) -> Any:
    scores, target, weight, reduction, ignored = args
    dim = _class_dim(scores.dim())
    classes, weights = _weights(target, weight, ignored, scores)
    picked = scores.gather(dim, classes.unsqueeze(dim)).squeeze(dim)
    each = -undertow.where(target != ignored, picked, 0) * weights
    total = weights.sum()
    if reduction == _NONE:
        return each, undertow.zeros_like(total)
    return (each.sum() / total if reduction == _MEAN else each.sum()), total


@rule("nll_loss_backward", logical=True)
def nll_loss_backward(op: Operator, level: Level, args: list[Any]) -> Any:
    grad, sizes, target, weight, reduction, ignored, total = args
    dim = _class_dim(len(sizes))
    classes, weights = _weights(target, weight, ignored, grad)
    if reduction == _MEAN:
        grad = grad / total
    each = (-grad * weights).unsqueeze(dim)
    zeros = undertow.zeros(sizes, dtype=each.dtype)
    return zeros.scatter_add(dim, classes.unsqueeze(dim), each)
