"""Batching rules of indexed reads and writes along one dimension: gather, scatter, index_select and others."""

from __future__ import annotations

import undertow
from undertow import _C
from undertow._vmap._dispatch import batched, rewrap, rule, split
from undertow._vmap._reduce import shifted, wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor
    from undertow._vmap._dispatch import Operator
    from undertow._vmap._levels import Level


def _at_least_one(value: Tensor, sample: Tensor) -> Tensor:
    return value if sample.dim() else value.unsqueeze(1)


@rule("gather")
@rule("scatter")
@rule("scatter_add")
@rule("scatter_reduce")
def elementwise(op: Operator, level: Level, args: list[Any]) -> Any:
    """Rule for (self, dim, index, source, ...) where the index has the shape of the elements read or written."""
    args = list(args)
    rank = args[0].dim()
    shape = args[2].shape if op.key == "gather" else args[0].shape
    args[1] = shifted(args[1], rank)
    for i, a in enumerate(args):
        if isinstance(a, _C.Tensor):
            args[i] = _at_least_one(batched(a, level), a)
    if args[2].dim() != args[0].dim() and not args[2].numel():
        # An empty index reads and writes nothing, regardless of its number of dimensions.
        args[2] = args[2].reshape(level.size, 0, *(1,) * (max(rank, 1) - 1))
    result = op(*args)
    if op.inplace:
        return None
    return result if result.dim() == len(shape) + 1 else result.reshape(level.size, *shape)


@rule("index_select", logical=True)
def index_select(op: Operator, level: Level, args: list[Any]) -> Any:
    sample, dim, index = args
    rank = sample.dim()
    at = wrapped(dim, rank)
    value, is_batched = split(sample, level)
    positions, moves = split(index, level)
    if not moves:
        result = op(_at_least_one(value, sample), at + 1, positions)
        return rewrap(result if rank else result.squeeze(1), level)
    if index.dim() > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if not rank:
        return sample.reshape(1).gather(0, index.reshape(-1)).reshape(())
    if not is_batched:  # the indices of all samples at once
        picked = op(value, at, positions.reshape(-1)).unflatten(at, (level.size, index.numel()))
        return rewrap(picked.movedim(at, 0), level)
    shape = list(sample.shape)
    shape[at] = index.numel()
    return sample.gather(at, _along(index, at, shape))


def _along(index: Tensor, dim: int, shape: list[int]) -> Tensor:
    """Expand a vector of indices along `dim` to `shape`."""
    view = [1] * len(shape)
    view[dim] = -1
    return index.reshape(view).expand(shape)


def _by_scatter(op: Operator, level: Level, args: list[Any]) -> tuple[Tensor, int, Tensor, Tensor]:
    """Convert the arguments of index_add and similar operators to those of scatter: self, dim, index, source."""
    sample, dim, index, source = args[:4]
    at = wrapped(dim, sample.dim())
    target = sample if sample.dim() else sample.reshape(1)
    if not source.dim():
        source = source.reshape(1)
    shape = list(source.shape)
    return target, at, _along(index.reshape(-1), at, shape), source


def _same_dims(op: Operator, level: Level, args: list[Any]) -> Any:
    """Apply the operator to the values, for indices that do not depend on the sample."""
    sample, dim, index, source, *rest = args
    value = _at_least_one(batched(sample, level), sample)
    source = _at_least_one(batched(source, level), source)
    result = op(value, shifted(dim, sample.dim()), index, source, *rest)
    if op.inplace:
        return None
    return rewrap(result if sample.dim() else result.squeeze(1), level)


def _finished(op: Operator, args: list[Any], result: Tensor) -> Any:
    if op.inplace:
        args[0].copy_(result.reshape(args[0].shape))
        return None
    return result.reshape(args[0].shape)


@rule("index_add", logical=True)
def index_add(op: Operator, level: Level, args: list[Any]) -> Any:
    if not split(args[2], level)[1]:
        return _same_dims(op, level, args)
    target, dim, index, source = _by_scatter(op, level, args)
    alpha = args[4]
    return _finished(op, args, target.scatter_add(dim, index, source if alpha == 1 else source * alpha))


@rule("index_copy", logical=True)
def index_copy(op: Operator, level: Level, args: list[Any]) -> Any:
    if not split(args[2], level)[1]:
        return _same_dims(op, level, args)
    target, dim, index, source = _by_scatter(op, level, args)
    return _finished(op, args, target.scatter(dim, index, source))


@rule("index_reduce", logical=True)
def index_reduce(op: Operator, level: Level, args: list[Any]) -> Any:
    if not split(args[2], level)[1]:
        return _same_dims(op, level, args)
    target, dim, index, source = _by_scatter(op, level, args)
    return _finished(op, args, target.scatter_reduce(dim, index, source, args[4], include_self=args[5]))


@rule("index_fill", logical=True)
def index_fill(op: Operator, level: Level, args: list[Any]) -> Any:
    sample, dim, index, value = args
    if not split(index, level)[1] and not split(value, level)[1]:
        result = op(_at_least_one(batched(sample, level), sample), shifted(dim, sample.dim()), index, value)
        if op.inplace:
            return None
        return rewrap(result if sample.dim() else result.squeeze(1), level)
    target = sample if sample.dim() else sample.reshape(1)
    at = wrapped(dim, sample.dim())
    shape = list(target.shape)
    shape[at] = index.numel()
    positions = _along(index.reshape(-1), at, shape)
    if isinstance(value, _C.Tensor):
        return _finished(op, args, target.scatter(at, positions, value.to(target.dtype).expand(shape)))
    return _finished(op, args, target.scatter(at, positions, value))


@rule("fill_diagonal", logical=True)
def fill_diagonal(op: Operator, level: Level, args: list[Any]) -> Any:
    sample, value, wrap = args
    mask = undertow.zeros(sample.shape, dtype=undertow.bool, device=sample.device).fill_diagonal_(1, wrap)
    if op.inplace:
        sample.masked_fill_(mask, value)
        return None
    return sample.masked_fill(mask, value)


@rule("take", logical=True)
def take(op: Operator, level: Level, args: list[Any]) -> Any:
    sample, index = args
    flat = sample.reshape(-1)
    positions = index.reshape(-1)
    return flat.gather(0, undertow.where(positions < 0, positions + flat.shape[0], positions)).reshape(index.shape)


@rule("put", logical=True)
def put(op: Operator, level: Level, args: list[Any]) -> Any:
    sample, index, source, accumulate = args
    flat = sample.reshape(-1)
    positions = index.reshape(-1)
    positions = undertow.where(positions < 0, positions + flat.shape[0], positions)
    written = flat.scatter_add if accumulate else flat.scatter
    return _finished(op, args, written(0, positions, source.reshape(-1)))


@rule("take_along_dim", logical=True)
def take_along_dim(op: Operator, level: Level, args: list[Any]) -> Any:
    sample, indices, dim = args
    if dim is None:
        sample, indices, dim = sample.reshape(-1), indices.reshape(-1), 0
    if sample.dim() != indices.dim():
        raise RuntimeError(
            "undertow.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {sample.dim()} dimensions for input, and {indices.dim()} dimensions for indices"
        )
    at = wrapped(dim, sample.dim())
    if not sample.dim():
        return sample.gather(0, indices.remainder(1))
    own, asked = list(sample.shape), list(indices.shape)
    own[at] = asked[at]
    shape = list(undertow.broadcast_shapes(own, asked))
    source = list(shape)
    source[at] = sample.shape[at]
    return sample.expand(source).gather(at, indices.remainder(max(sample.shape[at], 1)).expand(shape))


@rule("one_hot", logical=True)
def one_hot(op: Operator, level: Level, args: list[Any]) -> Any:
    index, classes = args
    if classes <= 0:
        raise RuntimeError(
            "When vmap-ing undertow.nn.functional.one_hot, please provide an explicit positive "
            "num_classes argument."
        )
    return rewrap(op(split(index, level)[0], classes), level)


@rule("embedding", logical=True)
def embedding(op: Operator, level: Level, args: list[Any]) -> Any:
    weight, indices, padding, by_frequency, sparse = args
    table, has_tables = split(weight, level)
    positions, moves = split(indices, level)
    if not has_tables and not by_frequency:
        return rewrap(op(table, positions, padding, by_frequency, sparse), level)
    if by_frequency:
        return NotImplemented
    # One table with the rows of all samples. Detaching the padding rows stops their gradient in every sample.
    if padding >= 0:
        is_padding = (undertow.arange(weight.shape[0]) == padding).unsqueeze(1)
        table = undertow.where(is_padding, table.detach(), table)
    rows = weight.shape[0]
    start = undertow.arange(level.size).reshape(-1, *(1,) * indices.dim()) * rows
    picked = op(table.reshape(level.size * rows, weight.shape[1]), positions + start, -1, False, sparse)
    return rewrap(picked, level)


def _scattered(op: Operator, level: Level, args: list[Any], dims: list[int], tail: list[Any]) -> Any:
    """Write src into the part of self that dims and the remaining arguments select."""
    sample, source = args[:2]
    return op(batched(sample, level), batched(source, level), *dims, *tail)


@rule("select_scatter")
def select_scatter(op: Operator, level: Level, args: list[Any]) -> Any:
    return _scattered(op, level, args, [shifted(args[2], args[0].dim())], args[3:])


@rule("slice_scatter")
def slice_scatter(op: Operator, level: Level, args: list[Any]) -> Any:
    return _scattered(op, level, args, [shifted(args[2], args[0].dim())], args[3:])


@rule("diagonal_scatter")
def diagonal_scatter(op: Operator, level: Level, args: list[Any]) -> Any:
    rank = args[0].dim()
    return _scattered(op, level, args, [], [args[2], shifted(args[3], rank), shifted(args[4], rank)])
