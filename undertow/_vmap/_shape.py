"""Batching rules of views and other shape operators. A view of a sample is a view of the value, so writes reach it."""

from __future__ import annotations

from undertow import _C
from undertow._vmap._dispatch import batched, rewrap, rule, split
from undertow._vmap._reduce import shifted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from undertow import Tensor
    from undertow._vmap._dispatch import Operator
    from undertow._vmap._levels import Level


def _resized(op: Operator, args: list[Any]) -> None:
    """Update the batched tensor's shape from its value after an in-place view operator."""
    if op.inplace:
        _C._refresh_batched(args[0])


def _numel(shape: Any) -> int:
    n = 1
    for s in shape:
        n *= s
    return n


def _inferred(sample: Tensor, shape: Any) -> list[int]:
    """Replace -1 in the shape by a number, because the batch size in front of it may be 0."""
    size = list(shape)
    if size.count(-1) == 1:
        known = _numel(s for s in size if s != -1)
        if known and sample.numel() % known == 0:
            size[size.index(-1)] = sample.numel() // known
    if -1 in size or _numel(size) != sample.numel():
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {sample.numel()}")
    return size


@rule("view")
def view(op: Operator, level: Level, args: list[Any]) -> Any:
    sample, size = args
    return op(split(sample, level)[0], [level.size, *_inferred(sample, size)])


@rule("reshape")
def reshape(op: Operator, level: Level, args: list[Any]) -> Any:
    sample, shape = args
    return op(split(sample, level)[0], [level.size, *_inferred(sample, shape)])


@rule("contiguous", logical=True)
def contiguous(op: Operator, level: Level, args: list[Any]) -> Any:
    value = split(args[0], level)[0]
    made = op(value, args[1])
    return args[0] if made is value else rewrap(made, level)


@rule("view_dtype")
def view_dtype(op: Operator, level: Level, args: list[Any]) -> Any:
    if not args[0].dim() and args[0].itemsize != args[1].itemsize:
        raise RuntimeError(
            f"self.dim() cannot be 0 to view {args[0].dtype} as {args[1]} (different element sizes)"
        )
    return op(split(args[0], level)[0], args[1])


@rule("view_as_complex")
def view_as_complex(op: Operator, level: Level, args: list[Any]) -> Any:
    if not args[0].dim():
        raise RuntimeError("Input tensor must have one or more dimensions")
    return op(split(args[0], level)[0])


@rule("as_strided")
def as_strided(op: Operator, level: Level, args: list[Any]) -> Any:
    """Rule for as_strided; the offset refers to the first sample, whose strides and offset the batched tensor reports."""
    sample, size, stride, offset = args
    value = split(sample, level)[0]
    offset = value.storage_offset() if offset is None else offset
    result = op(value, [level.size, *size], [value.stride(0), *stride], offset)
    _resized(op, args)
    return result


def _extent(sizes: Sequence[int], strides: Sequence[int]) -> int:
    """The number of elements from the first to the last one in memory."""
    return 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True)) if all(sizes) else 0


@rule("as_strided_scatter")
def as_strided_scatter(op: Operator, level: Level, args: list[Any]) -> Any:
    """Rule for as_strided_scatter: each sample is copied to a memory of its own, laid out as the first sample is."""
    sample, source, size, stride, offset = args
    sizes, strides, start = list(sample.shape), list(sample.stride()), sample.storage_offset()
    if any(n > 1 and not s for n, s in zip(sizes, strides, strict=True)):
        strides, start = [_numel(sizes[d + 1 :]) for d in range(len(sizes))], 0
    offset = start if offset is None else offset
    base = min(start, offset)
    extent = max(1, start - base + _extent(sizes, strides), offset - base + _extent(size, stride))
    value = batched(sample, level)
    layout = [level.size, *sizes], [extent, *strides], start - base
    copy = op(value.new_zeros((level.size, extent)), value, *layout).as_strided(*layout)
    return op(copy, batched(source, level), [level.size, *size], [extent, *stride], offset - base)


@rule("strided_sum")
def strided_sum(op: Operator, level: Level, args: list[Any]) -> Any:
    sample, size, stride, offset, extent = args
    value = split(sample, level)[0]
    # The memory ranges of the samples, one after the other.
    result = op(value, [level.size, *size], [extent, *stride], offset, level.size * extent)
    return result.reshape(level.size, extent)


@rule("expand")
def expand(op: Operator, level: Level, args: list[Any]) -> Any:
    sample, size, implicit = args
    value = split(sample, level)[0]
    new = len(size) - sample.dim()
    if new < 0:
        raise RuntimeError(
            f"expand: the number of sizes provided ({len(size)}) must be greater or equal to the "
            f"number of dimensions in the tensor ({sample.dim()})"
        )
    for _ in range(new):
        value = value.unsqueeze(1)
    if -1 in size[:new]:
        raise RuntimeError("expand: the expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension")
    return op(value, [level.size, *size], implicit)


@rule("transpose")
def transpose(op: Operator, level: Level, args: list[Any]) -> Any:
    sample, first, second = args
    rank = sample.dim()
    value = split(sample, level)[0]
    if not rank:
        shifted(first, 0), shifted(second, 0)  # raises if out of range
        return None if op.inplace else value.view_as(value)
    result = op(value, shifted(first, rank), shifted(second, rank))
    _resized(op, args)
    return result


@rule("t")
def t(op: Operator, level: Level, args: list[Any]) -> Any:
    sample = args[0]
    value = split(sample, level)[0]
    if sample.dim() > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {sample.dim()}D")
    if sample.dim() < 2:
        return value.view_as(value)
    result = value.transpose_(1, 2) if op.inplace else value.transpose(1, 2)
    _resized(op, args)
    return result


@rule("permute")
def permute(op: Operator, level: Level, args: list[Any]) -> Any:
    sample, dims = args
    rank = sample.dim()
    if len(dims) != rank:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {rank} is not equal to "
            f"len(dims) = {len(dims)}"
        )
    return op(split(sample, level)[0], [0, *(shifted(d, rank) for d in dims)])


@rule("squeeze")
def squeeze(op: Operator, level: Level, args: list[Any]) -> Any:
    sample = args[0]
    rank = sample.dim()
    if len(args) == 1:
        dims = [d for d in range(rank) if sample.shape[d] == 1]
    else:
        given = [args[1]] if isinstance(args[1], int) else args[1]
        dims = [shifted(d, rank) - 1 for d in given]
    dims = [d + 1 for d in dims if rank]
    value = split(sample, level)[0]
    if op.inplace:
        value.squeeze_(dims) if dims else None
    else:
        value = value.squeeze(dims) if dims else value.view_as(value)
    _resized(op, args)
    return value


@rule("unsqueeze")
def unsqueeze(op: Operator, level: Level, args: list[Any]) -> Any:
    sample, dim = args
    result = op(split(sample, level)[0], shifted(dim, sample.dim() + 1))
    _resized(op, args)
    return result


@rule("select")
def select(op: Operator, level: Level, args: list[Any]) -> Any:
    sample, dim, index = args
    if not sample.dim():
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    return op(split(sample, level)[0], shifted(dim, sample.dim()), index)


@rule("slice")
def slice_(op: Operator, level: Level, args: list[Any]) -> Any:
    sample, dim, *rest = args
    if not sample.dim():
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    return op(split(sample, level)[0], shifted(dim, sample.dim()), *rest)


@rule("select_backward")
@rule("slice_backward")
def into_zeros(op: Operator, level: Level, args: list[Any]) -> Any:
    """Rule for the gradient of a selection, scattered into zeros: (gradient, sizes of the input, dim, ...)."""
    grad, sizes, dim, *rest = args
    return op(split(grad, level)[0], [level.size, *sizes], shifted(dim, len(sizes)), *rest)


@rule("narrow_copy")
def narrow_copy(op: Operator, level: Level, args: list[Any]) -> Any:
    sample, dim, *rest = args
    return op(split(sample, level)[0], shifted(dim, sample.dim()), *rest)


@rule("diagonal")
def diagonal(op: Operator, level: Level, args: list[Any]) -> Any:
    sample, offset, first, second = args
    rank = sample.dim()
    return op(split(sample, level)[0], offset, shifted(first, rank), shifted(second, rank))


@rule("diagonal_backward")
def diagonal_backward(op: Operator, level: Level, args: list[Any]) -> Any:
    grad, sizes, offset, first, second = args
    rank = len(sizes)
    return op(split(grad, level)[0], [level.size, *sizes], offset, shifted(first, rank), shifted(second, rank))


@rule("diag_embed")
def diag_embed(op: Operator, level: Level, args: list[Any]) -> Any:
    sample, offset, first, second = args
    rank = sample.dim() + 1
    return op(split(sample, level)[0], offset, shifted(first, rank), shifted(second, rank))


@rule("unbind")
def unbind(op: Operator, level: Level, args: list[Any]) -> Any:
    sample, dim = args
    if not sample.dim():
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return op(split(sample, level)[0], shifted(dim, sample.dim()))


@rule("split")
@rule("split_with_sizes")
def split_(op: Operator, level: Level, args: list[Any]) -> Any:
    sample, size, dim = args
    if not sample.dim():
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    return op(split(sample, level)[0], size, shifted(dim, sample.dim()))


@rule("unfold")
def unfold(op: Operator, level: Level, args: list[Any]) -> Any:
    sample, dim, size, step = args
    value = split(sample, level)[0]
    if not sample.dim():
        shifted(dim, 0)
        if size != 1:
            raise RuntimeError(f"maximum size for tensor at dimension {dim} is 1 but size is {size}")
        return value.unsqueeze(1)
    return op(value, shifted(dim, sample.dim()), size, step)


# ---- copies with another shape ----


@rule("repeat")
def repeat(op: Operator, level: Level, args: list[Any]) -> Any:
    sample, repeats = args
    value = split(sample, level)[0]
    if len(repeats) < sample.dim():
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
        )
    for _ in range(len(repeats) - sample.dim()):
        value = value.unsqueeze(1)
    return op(value, [1, *repeats])


@rule("roll")
def roll(op: Operator, level: Level, args: list[Any]) -> Any:
    sample, shifts, dims = args
    value = split(sample, level)[0]
    if not dims:  # roll the flattened sample
        return op(value.flatten(1) if sample.dim() else value.unsqueeze(1), shifts, [1]).reshape(value.shape)
    return op(value, shifts, [shifted(d, sample.dim()) for d in dims])


@rule("rot90")
def rot90(op: Operator, level: Level, args: list[Any]) -> Any:
    sample, k, dims = args
    return op(split(sample, level)[0], k, [shifted(d, sample.dim()) for d in dims])


@rule("cat")
def cat(op: Operator, level: Level, args: list[Any]) -> Any:
    tensors, dim = args
    # An empty 1-d tensor can be concatenated with tensors of any shape, and is ignored.
    kept = [x for x in tensors if x.dim() != 1 or x.shape[0]] or list(tensors)
    return op(tuple(batched(x, level) for x in kept), shifted(dim, kept[0].dim()))


@rule("stack")
def stack(op: Operator, level: Level, args: list[Any]) -> Any:
    tensors, dim = args
    return op(tuple(batched(x, level) for x in tensors), shifted(dim, tensors[0].dim() + 1))
