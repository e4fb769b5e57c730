"""Rules of reductions, and the functions sum, softmax and log_softmax of undertow.sparse."""

from __future__ import annotations

import undertow
from undertow.sparse._convert import coalesce, coo_from, to_coo, to_dense, to_layout, values, values_at
from undertow.sparse._dispatch import rule, through_coo
from undertow.sparse._elementwise import on_values
from undertow.sparse._parts import BLOCKED, COO, indices_of, is_sparse, make_coo, positions, record, values_of, wrapped_dim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from undertow import Tensor


def sum(input: Tensor, dim: int | Sequence[int] | None = None, dtype: Any = None) -> Tensor:
    """Return the sum over all dimensions, or over `dim`; sparse unless all sparse dimensions are summed. The gradient is sparse.

    >>> import undertow as ut
    >>> ut.sparse.sum(ut.eye(2).to_sparse())
    tensor(2.)
    """
    input = to_coo(input)
    if dtype is not None:
        input = input.to(dtype)
    if dim is None:
        return values(coalesce(input)).sum()
    return _sum_over(coalesce(input), (dim,) if isinstance(dim, int) else tuple(dim))


def _sum_over(t: Tensor, dims: tuple[int, ...]) -> Tensor:
    count, sparse = t.dim(), indices_of(t).shape[0]
    over = sorted(wrapped_dim(d, count) for d in dims)
    if len(set(over)) != len(over):
        raise RuntimeError("dim appears multiple times in the list of dims")
    kept = [d for d in range(sparse) if d not in over]
    inside = [d - sparse + 1 for d in over if d >= sparse]
    indices = indices_of(t)
    size = [n for d, n in enumerate(t.shape) if d not in over]

    def compute(x: Tensor) -> Tensor:
        v = values_of(x).sum(inside) if inside else values_of(x)
        if not kept:
            return v.sum(0)
        if len(kept) == sparse:
            return make_coo(indices, v if inside else v.clone(), size, True)
        return coalesce(make_coo(indices[kept], v, size))

    def gradient(g: Tensor, x: Tensor) -> Tensor:
        at = values_at(g, indices[kept]) if kept else (to_dense(g) if is_sparse(g) else g).unsqueeze(0)
        for d in inside:
            at = at.unsqueeze(d)
        return coo_from(indices, at.expand(values_of(x).shape), x.shape, True)

    return record("SparseSumBackward0", compute, lambda g, x: (lambda: gradient(g, x),), t)


@rule("sum", every_layout=True)
def sum_rule(op: Any, args: list[Any]) -> Any:
    whole = not (args[0].is_floating_point() or args[0].is_complex())
    dtype = undertow.int64 if args[-1] is None and whole else args[-1]
    t = args[0] if dtype is None else args[0].to(dtype)
    if len(args) < 3 or args[1] is None or not len(args[1]):
        return record("SumBackward0", lambda x: values_of(x).sum(), lambda g, x: (lambda: g.expand(x.shape),), t)
    out = through_coo(_sum_coo, op, [t, *args[1:]])
    # A sum of a compressed matrix that keeps its dimensions is sparse, even if nothing is left to index.
    return to_layout(out, t.layout, t) if t.layout not in (COO, *BLOCKED) and t.dim() == out.dim() and not is_sparse(out) else out


def _sum_coo(op: Any, args: list[Any]) -> Any:
    t = args[0]
    out = _sum_over(coalesce(t), tuple(args[1]))
    if args[2]:
        for d in sorted(d % t.dim() for d in args[1]):
            out = out.unsqueeze(d)
    return out


@rule("any")
def any_rule(op: Any, args: list[Any]) -> Any:
    return values_of(coalesce(args[0].detach())).any()


@rule("norm")
def norm_rule(op: Any, args: list[Any]) -> Any:
    t, order, dim, keepdim, dtype = args
    if dim is not None and len(dim) not in (0, t.dim()):
        says = "norm_sparse currently only supports full reductions, so 'dim' must either be empty or contain all dimensions of the input"
        raise RuntimeError(f"{says}; got {list(dim)} for {t.dim()} dimensions")
    out = undertow.linalg.vector_norm(values(coalesce(t)), order, dtype=dtype)
    return out.reshape((1,) * t.dim()) if keepdim else out


@rule("item")
def item_rule(op: Any, args: list[Any]) -> Any:
    return to_dense(args[0].detach()).item()


def _softmax(name: str, t: Tensor, dim: int, dtype: Any, log: bool) -> Tensor:
    x = coalesce(to_coo(t) if dtype is None else to_coo(t).to(dtype))
    sparse = indices_of(x).shape[0]
    d = wrapped_dim(dim, x.dim())
    function = undertow.log_softmax if log else undertow.softmax
    if d >= sparse:
        return on_values(name, lambda v: function(v, d - sparse + 1), x)
    others = [k for k in range(sparse) if k != d]
    flat = positions(indices_of(x)[others], [x.shape[k] for k in others]) if others else indices_of(x)[0] * 0
    groups, where = undertow.unique(flat, return_inverse=True)

    def grouped(v: Tensor) -> Tensor:
        index = where.reshape(-1, *(1,) * (v.dim() - 1)).expand_as(v)
        none = v.new_zeros(groups.shape[0], *v.shape[1:])
        top = none.scatter_reduce(0, index, v.detach(), "amax", include_self=False)
        shifted = v - top[where]
        total = none.index_add(0, where, shifted.exp())
        return shifted - total.log()[where] if log else shifted.exp() / total[where]

    return on_values(name, grouped, x)


def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Return the softmax along `dim` of the specified elements; the others are minus infinity and stay unspecified."""
    return _softmax("SparseSoftmaxBackward0", input, dim, dtype, False)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Return the logarithm of the softmax along `dim` of the specified elements."""
    return _softmax("SparseLogSoftmaxBackward0", input, dim, dtype, True)
