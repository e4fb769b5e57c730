"""Batching rules of operators along dimensions: reductions, scans, sorts, softmax, norms.

Dimension d of a sample is dimension d + 1 of its value. A 0-d sample may be reduced along dimension 0
or -1 too; its value then gets an additional dimension.
"""

from __future__ import annotations

import undertow
from undertow import _C
from undertow._vmap._dispatch import OPERATORS, batched, rewrap, rule, split
from undertow._vmap._pointwise import pad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from undertow import Tensor
    from undertow._vmap._dispatch import Operator
    from undertow._vmap._levels import Level


def wrapped(dim: int, rank: int) -> int:
    """Return a sample's dimension as a non-negative number; a 0-d sample counts as having one dimension."""
    rank = max(rank, 1)
    if not -rank <= dim < rank:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})"
        )
    return dim % rank


def shifted(dim: int, rank: int) -> int:
    """Return the dimension of the value for dimension `dim` of a sample."""
    return wrapped(dim, rank) + 1


def _all_shifted(dims: Sequence[int], rank: int) -> list[int]:
    return [shifted(d, rank) for d in dims]


def _each(results: Any, f: Any) -> Any:
    return f(results) if isinstance(results, _C.Tensor) else [f(r) for r in results]


def _with_dimension(value: Tensor, rank: int) -> Tensor:
    return value if rank else value.unsqueeze(1)


def _without(results: Any, rank: int) -> Any:
    """Remove the additional dimension from the results of 0-d samples."""
    return results if rank else _each(results, lambda r: r.squeeze(1) if r.dim() > 1 else r)


@rule("reduce")
def reduce(op: Operator, level: Level, args: list[Any]) -> Any:
    args = list(args)
    rank = args[0].dim()
    args[0] = _with_dimension(split(args[0], level)[0], rank)
    at = op.names.index("dim")
    dim = args[at]
    if isinstance(dim, int):
        args[at] = shifted(dim, rank)
        return _without(op(*args), rank)
    if dim:
        args[at] = _all_shifted(dim, rank)
        return _without(op(*args), rank)
    keep = "keepdim" in op.names and args[op.names.index("keepdim")]
    if _takes_one(op):  # an empty dim means all dimensions; this operator takes only one, so flatten
        args[0] = args[0].flatten(1)
        args[at] = 1
        if keep:
            results = op(*args)
            return _each(results, lambda r: r.reshape(level.size, *(1,) * rank))
    else:
        args[at] = list(range(1, max(rank, 1) + 1))
    return _without(op(*args), rank)


def _takes_one(op: Operator) -> bool:
    return op.key in ("argmax", "argmin", "aminmax", "count_nonzero")


# The operator along dimensions that replaces a full reduction. amax and amin, because max and min distribute the gradient evenly among
# equal elements.
_ALONG = {"sum": "sum.dim", "mean": "mean.dim", "prod": "prod.dim", "max": "amax", "min": "amin", "median": "median.dim",
          "nanmedian": "nanmedian.dim", "any": "any.dim", "all": "all.dim"}


@rule("reduce_all")
def reduce_all(op: Operator, level: Level, args: list[Any]) -> Any:
    value, *rest = args
    if op.key in ("max", "min") and not value.numel():
        raise RuntimeError(
            f"{op.key}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
            "reduction dim with the 'dim' argument."
        )
    along = OPERATORS[_ALONG[op.key]]
    value = split(value, level)[0].flatten(1) if value.dim() else split(value, level)[0].unsqueeze(1)
    result = along(value, [1] if op.key in ("max", "min", "sum", "mean") else 1, False, *rest)
    return result if isinstance(result, _C.Tensor) else result[0]


@rule("along")
def along(op: Operator, level: Level, args: list[Any]) -> Any:
    """Rule for operators whose result has the broadcast shape of the arguments: scans, sorts, softmax, flip."""
    args = list(args)
    rank = max(a.dim() for a in args if isinstance(a, _C.Tensor))
    several = sum(isinstance(a, _C.Tensor) for a in args) > 1
    for i, a in enumerate(args):
        if isinstance(a, _C.Tensor):
            value = pad(batched(a, level), rank - a.dim()) if several else split(a, level)[0]
            args[i] = _with_dimension(value, rank)
    at = op.names.index("dims" if "dims" in op.names else "dim")
    args[at] = shifted(args[at], rank) if isinstance(args[at], int) else _all_shifted(args[at], rank)
    return _without(op(*args), rank)


@rule("renorm")
def renorm(op: Operator, level: Level, args: list[Any]) -> Any:
    value, p, dim, limit = args
    if value.dim() < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {value.dim()} dimensions")
    at = shifted(dim, value.dim())
    own = split(value, level)[0]
    # Merge the slices along dim of all samples into one dimension.
    first = own.movedim(at, 1)
    joined = first.reshape(level.size * first.shape[1], *first.shape[2:])
    result = undertow.renorm(joined, p, 0, limit).reshape(first.shape).movedim(1, at)
    return own.copy_(result) if op.inplace else result


@rule("dist", logical=True)
def dist(op: Operator, level: Level, args: list[Any]) -> Any:
    return undertow.linalg.vector_norm(args[0] - args[1], args[2])


@rule("trace", logical=True)
def trace(op: Operator, level: Level, args: list[Any]) -> Any:
    if args[0].dim() != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {args[0].dim()}")
    return args[0].diagonal().sum()


def of_every_sample(results: Any, level: Level) -> Any:
    """Give results that were not computed (an empty tensor) a batch dimension."""

    def each(r: Tensor) -> Tensor:
        return r.expand((level.size, 0)) if r.shape == (0,) and level.size else r

    return _each(results, each)


@rule("matrix")
def matrix(op: Operator, level: Level, args: list[Any]) -> Any:
    """Rule for operators on the last two dimensions, with any number of leading dimensions."""
    if args[0].dim() < 2:
        raise RuntimeError(f"{op.public}: input tensor must have at least 2 dimensions, got {args[0].dim()}")
    return of_every_sample(op(split(args[0], level)[0], *args[1:]), level)


@rule("searchsorted", logical=True)
def searchsorted(op: Operator, level: Level, args: list[Any]) -> Any:
    sequence, values, *rest = args
    sorter = rest[-1]
    if not any(split(t, level)[1] for t in (sequence, sorter)) and sequence.dim() == 1:
        return rewrap(op(sequence, split(values, level)[0], *rest), level)
    if sequence.dim() == 1:  # 1-d boundaries accept values of any shape: make them rows of a matrix
        flat = values.reshape(-1)
        found = op(batched(sequence, level), batched(flat, level), *rest[:-1], None if sorter is None else batched(sorter, level))
        return rewrap(found, level).reshape(values.shape)
    return rewrap(op(batched(sequence, level), batched(values, level), *rest[:-1], None if sorter is None else batched(sorter, level)), level)


@rule("bucketize", logical=True)
def bucketize(op: Operator, level: Level, args: list[Any]) -> Any:
    values, boundaries, out_int32, right = args
    return undertow.searchsorted(boundaries, values, out_int32=out_int32, right=right)


@rule("isin", logical=True)
def isin(op: Operator, level: Level, args: list[Any]) -> Any:
    elements, tests, _, invert = args
    tests = tests.reshape(-1)
    found = (elements.unsqueeze(-1) == tests).any(-1) if isinstance(elements, _C.Tensor) else (tests == elements).any()
    return ~found if invert else found
