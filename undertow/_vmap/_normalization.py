"""Batching rules of normalisations. Operators that normalise each sample separately treat the batch as more samples; batch
normalisation treats it as more channels. The backward passes are written out: see Note [Derivatives Of Normalisation] in the core."""

from __future__ import annotations

import undertow
from undertow import _C
from undertow._vmap._dispatch import batched, rewrap, rule, split

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from undertow import Tensor
    from undertow._vmap._dispatch import Operator
    from undertow._vmap._levels import Level


def _is_batched(t: Any, level: Level) -> bool:
    return isinstance(t, _C.Tensor) and split(t, level)[1]


def _scaled(out: Tensor, weight: Tensor | None, bias: Tensor | None, shape: Sequence[int] | None = None) -> Tensor:
    for t, op in ((weight, undertow.mul), (bias, undertow.add)):
        if t is not None:
            out = op(out, t if shape is None else t.reshape(shape))
    return out


@rule("layer_norm", logical=True)
def layer_norm(op: Operator, level: Level, args: list[Any]) -> Any:
    x, shape, weight, bias, eps = args
    if not any(_is_batched(t, level) for t in (weight, bias)):
        return [rewrap(r, level) for r in op(split(x, level)[0], shape, weight, bias, eps)]
    out, mean, rstd = undertow.native_layer_norm(x, shape, None, None, eps)
    return _scaled(out, weight, bias), mean, rstd


@rule("rms_norm", logical=True)
def rms_norm(op: Operator, level: Level, args: list[Any]) -> Any:
    x, shape, weight, eps = args
    if not _is_batched(weight, level):
        return [rewrap(r, level) for r in op(split(x, level)[0], shape, weight, eps)]
    out, rstd = _C._ops["_fused_rms_norm"](x, shape, None, eps)
    return out * weight, rstd


@rule("group_norm", logical=True)
def group_norm(op: Operator, level: Level, args: list[Any]) -> Any:
    x, weight, bias, n, c, inner, groups, eps = args
    if any(_is_batched(t, level) for t in (weight, bias)):
        out, mean, rstd = undertow.native_group_norm(x, None, None, n, c, inner, groups, eps)
        shape = (c, *(1,) * (x.dim() - 2))
        return _scaled(out, weight, bias, shape), mean, rstd
    value = split(x, level)[0]
    out, mean, rstd = op(value.reshape(level.size * n, *value.shape[2:]), weight, bias, level.size * n, c, inner, groups, eps)
    return [rewrap(r.reshape(s), level) for r, s in ((out, value.shape), (mean, (level.size, n, groups)), (rstd, (level.size, n, groups)))]


def _as_channels(t: Tensor | None, level: Level) -> Tensor | None:
    return None if t is None else batched(t, level).reshape(-1)


@rule("batch_norm", logical=True)
def batch_norm(op: Operator, level: Level, args: list[Any]) -> Any:
    x, weight, bias, mean, var, training, momentum, eps = args
    if training and any(t is not None and not split(t, level)[1] for t in (mean, var)):
        raise RuntimeError(
            "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in place, "
            "were not batched: give every sample its own, or normalise without them (track_running_stats=False)"
        )
    if x.dim() < 2:
        raise RuntimeError(f"batch_norm: expected an input with batch and channel dimensions, got {x.dim()} dimensions")
    value = batched(x, level).movedim(0, 1)
    n, size, c = value.shape[:3]
    own = [_as_channels(t, level) for t in (mean, var)]
    out, *stats = op(
        value.reshape(n, size * c, *value.shape[3:]), _as_channels(weight, level), _as_channels(bias, level), *own, training, momentum, eps
    )
    if training:
        for t, moved in zip((mean, var), own, strict=True):
            if t is not None and moved is not None:
                split(t, level)[0].copy_(moved.reshape(size, c))
    return [rewrap(out.reshape(value.shape).movedim(1, 0), level), *(rewrap(s.reshape(size, -1), level) for s in stats)]


def _written_out(
    dy: Tensor, x: Tensor, mean: Tensor | None, rstd: Tensor, weight: Tensor | None, over: list[int], shared: list[int], fixed: bool
) -> Any:
    """Return the gradient of x, and the gradients of the weight and the bias before they are reshaped."""
    centre = x if mean is None else x - mean
    hat, h = centre * rstd, dy if weight is None else dy * weight
    rest = h
    if not fixed:
        rest = h - hat * (h * hat).mean(over, True)
        if mean is not None:
            rest = rest - h.mean(over, True)
    sums = [t.sum(shared) if shared else t for t in (dy * hat, dy)]
    return rest * rstd, *sums


def _only(results: Sequence[Tensor], mask: int) -> list[Tensor]:
    """Replace results that are not needed with empty tensors."""
    return [r if mask >> i & 1 else r.new_empty(0) for i, r in enumerate(results)]


@rule("layer_norm_backward", logical=True)
def layer_norm_backward(op: Operator, level: Level, args: list[Any]) -> Any:
    dy, x, shape, mean, rstd, weight, _, mask = args
    lead = x.dim() - len(shape)
    return _only(_written_out(dy, x, mean, rstd, weight, list(range(lead, x.dim())), list(range(lead)), fixed=False), mask)


@rule("rms_norm_backward", logical=True)
def rms_norm_backward(op: Operator, level: Level, args: list[Any]) -> Any:
    dy, x, shape, rstd, weight, _, mask = args
    lead = x.dim() - len(shape)
    return _only(_written_out(dy, x, None, rstd, weight, list(range(lead, x.dim())), list(range(lead)), fixed=False)[:2], mask)


@rule("batch_norm_backward", logical=True)
def batch_norm_backward(op: Operator, level: Level, args: list[Any]) -> Any:
    dy, x, weight, mean, var, save_mean, save_rstd, training, eps, mask = args
    if x.dim() < 2:  # a 1-d input has no channels and no elements
        return _only((dy, x.new_zeros(0), x.new_zeros(0)), mask)
    shape = (1, x.shape[1], *(1,) * (x.dim() - 2))
    centre, rstd = (save_mean, save_rstd) if training else (mean, (var + eps).rsqrt())
    over = [d for d in range(x.dim()) if d != 1]
    dx, dw, db = _written_out(
        dy, x, centre.reshape(shape), rstd.reshape(shape), None if weight is None else weight.reshape(shape), over, over, fixed=not training
    )
    return _only((dx, dw, db), mask)


@rule("group_norm_backward", logical=True)
def group_norm_backward(op: Operator, level: Level, args: list[Any]) -> Any:
    dy, x, mean, rstd, weight, n, c, inner, groups, _, mask = args
    shape, stats = (n, groups, c // groups, inner), (n, groups, 1, 1)
    w = None if weight is None else weight.reshape(1, groups, c // groups, 1)
    dx, dw, db = _written_out(dy.reshape(shape), x.reshape(shape), mean.reshape(stats), rstd.reshape(stats), w, [2, 3], [0, 3], fixed=False)
    return _only((dx.reshape(x.shape), dw.reshape(c), db.reshape(c)), mask)
