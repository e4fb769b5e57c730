"""Batching rules of elementwise operators: arithmetic, copies, fills, `*_like` and `new_*`."""

from __future__ import annotations

import undertow
from undertow import _C
from undertow._vmap._dispatch import OPERATORS, batched, rule, split
from undertow._vmap._wrapping import level_of, value_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor, dtype
    from undertow._vmap._dispatch import Operator
    from undertow._vmap._levels import Level


def pad(value: Tensor, missing: int) -> Tensor:
    """Insert dimensions of size 1 after the batch, so that samples with fewer dimensions broadcast correctly."""
    for _ in range(missing):
        value = value.unsqueeze(1)
    return value


def _kind(t: dtype) -> int:
    return 3 if t.is_complex else 2 if t.is_floating_point else 1 if t != undertow.bool else 0


def _promoted(samples: list[Tensor], values: list[Tensor]) -> list[Tensor]:
    """Convert the values so that promotion is the same as for one sample, where 0-d tensors have lower priority.

    The value of a batched 0-d tensor has one dimension, the batch, so it would take part in promotion like any
    other tensor: it is converted first. If all samples are 0-d, unbatched tensors get a dimension too.
    """
    dtypes = [t.dtype for t in samples if t.dim()]
    if not dtypes:
        return [v if v.dim() else v.unsqueeze(0) for v in values]
    target = dtypes[0]
    for other in dtypes[1:]:
        target = undertow.promote_types(target, other)
    return [
        v.to(target) if v is not t and not t.dim() and t.dtype != target and _kind(t.dtype) == _kind(target) else v
        for t, v in zip(samples, values, strict=True)
    ]


def align(level: Level, args: list[Any], *, skip: int = 0) -> list[Any]:
    """Replace batched tensors in the arguments by their values, shaped so that they broadcast like the samples.

    `skip` is the number of leading tensors that do not take part in promotion (such as a condition).
    """
    number = level.number
    out = list(args)
    rank, uneven = -1, False
    for i, a in enumerate(args):
        if isinstance(a, _C.Tensor):
            dims = a.dim()
            uneven |= rank not in (-1, dims)
            rank = max(rank, dims)
            if level_of(a) == number:
                out[i] = value_of(a)
    if not uneven and rank:
        return out
    places = [i for i, a in enumerate(args) if isinstance(a, _C.Tensor)]
    samples, values = [args[i] for i in places], [out[i] for i in places]
    if len({t.dtype for t in samples[skip:]}) > 1:
        values[skip:] = _promoted(samples[skip:], values[skip:])
    for i, t, v in zip(places, samples, values, strict=True):
        out[i] = pad(v, rank - t.dim()) if level_of(t) == number else v
    return out


@rule("pointwise")
def pointwise(op: Operator, level: Level, args: list[Any]) -> Any:
    return op(*align(level, args, skip=int(op.key.startswith("where"))))


@rule("copy")
def copy(op: Operator, level: Level, args: list[Any]) -> Any:
    if op.inplace:
        return op(*align(level, args))
    # The result has self's strides in every sample, because the engine addresses it with self's strides.
    target, source = args[:2]
    value, is_batched = split(target, level)
    if not is_batched:
        extent = 1 + sum((n - 1) * s for n, s in zip(target.shape, target.stride(), strict=True)) if target.numel() else 0
        value = target.new_empty_strided((level.size, *target.shape), (extent, *target.stride()))
    source_value, source_is_batched = split(source, level)
    return op(value, pad(source_value, target.dim() - source.dim()) if source_is_batched else source, *args[2:])


@rule("fill")
def fill(op: Operator, level: Level, args: list[Any]) -> Any:
    target, value = args
    value = batched(value, level)
    own, is_batched = split(target, level)
    shape = (level.size, *target.shape)
    filled = pad(value, target.dim()).expand(shape)
    if op.inplace:
        return own.copy_(filled)
    return OPERATORS["copy"](own if is_batched else batched(target, level), filled, False)


@rule("masked_fill")
def masked_fill(op: Operator, level: Level, args: list[Any]) -> Any:
    target, mask, value = args
    if not isinstance(value, _C.Tensor):
        if op.inplace or split(target, level)[1]:
            return op(*align(level, args))
        rank = max(target.dim(), mask.dim())
        return op(pad(batched(target, level), rank - target.dim()), pad(split(mask, level)[0], rank - mask.dim()), value)
    if value.dim():
        raise RuntimeError(
            "masked_fill only supports a 0-dimensional value tensor, but got tensor with "
            f"{value.dim()} dimension(s)."
        )
    mask_value, target_value, filler = align(level, [mask, target, value], skip=1)
    chosen = undertow.where(mask_value, filler.to(target.dtype), target_value)
    return target_value.copy_(chosen) if op.inplace else chosen


@rule("new")
def new(op: Operator, level: Level, args: list[Any]) -> Any:
    """Rule for new_zeros and similar operators: create a batched tensor, so that batched values can be written to it."""
    value, size, *rest = args
    value = split(value, level)[0]
    shape = (level.size, *size)
    if "stride" in op.names:
        stride = rest.pop(0)
        extent = max((1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True)), 0)) if 0 not in size else 0
        return op(value, shape, (extent, *stride), *rest)
    return op(value, shape, *rest)


