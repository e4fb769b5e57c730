"""Rules of elementwise operators: copies, functions with f(0) = 0, sums, products, and quotients by numbers."""

from __future__ import annotations

import undertow
from undertow import _C
from undertow.sparse._convert import coalesce, coo_from, from_values, to_coo, to_dense, values, values_at, values_where
from undertow.sparse._dispatch import missing, rule, through_coo
from undertow.sparse._parts import (
    COMPRESSED,
    COO,
    at_version_0,
    block_of,
    indices_of,
    is_coalesced,
    is_sparse,
    make_coo,
    positions,
    record,
    title,
    values_of,
    with_values,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from undertow import Tensor


def node_name(op: Any) -> str:
    """Return torch's name of the node: log1p is Log1PBackward0."""
    return op.public.rstrip("_").title().replace("_", "") + "Backward0"


def without_duplicates(t: Tensor) -> Tensor:
    """Return a tensor in which no index occurs twice: a compressed one as it is, a COO one coalesced."""
    return coalesce(t) if t.layout is COO else t


def on_values(name: str, function: Callable[[Tensor], Tensor], t: Tensor) -> Tensor:
    """Return a tensor with the indices of `t` and `function` of its values. No index occurs twice, or `function` is linear."""

    def gradient(g: Tensor, x: Tensor) -> Tensor:
        x = without_duplicates(x)
        with undertow.enable_grad():
            v = values(x)
            v = v if v.requires_grad else v.detach().requires_grad_()
            y = function(v)
        (found,) = undertow.autograd.grad(y, v, values_where(g, x), create_graph=undertow.is_grad_enabled(), allow_unused=True)
        return from_values(x, undertow.zeros_like(v) if found is None else found)

    return record(name, lambda x: with_values(x, function(values_of(x))), lambda g, x: (lambda: gradient(g, x),), t)


@rule("unary", every_layout=True)
def unary(op: Any, args: list[Any]) -> Any:
    if op.inplace and not is_coalesced(args[0]):
        raise RuntimeError(f"{op.public} requires coalesced input; use coalesce() first")
    plain = _plain(op)
    return on_values(node_name(op), lambda v: plain(v, *args[1:]), without_duplicates(args[0]))


def _plain(op: Any) -> Callable[..., Tensor]:
    """Return the operator itself, out of place."""
    from undertow._vmap._dispatch import OPERATORS

    return OPERATORS[op.key.removesuffix("_")] if op.inplace else op


@rule("pow", every_layout=True)
def power(op: Any, args: list[Any]) -> Any:
    exponent = args[1]
    if exponent == 0:
        raise RuntimeError("pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor dense")
    return on_values("PowBackward0", lambda v: v**exponent, without_duplicates(args[0]))


@rule("linear", every_layout=True)
def linear(op: Any, args: list[Any]) -> Any:
    """neg, clone, and conversions of dtype and device."""
    name = op.public.rstrip("_")
    x = args[0]
    rest = [None if type(a) is _C.memory_format else a for a in args[1:]]

    def compute(x: Tensor) -> Tensor:
        v = _plain(op)(values_of(x), *rest)
        if v.is_meta and not x.is_meta:  # the number of values is not known there
            x = without_values(x)
            v = _plain(op)(values_of(x), *rest)
        layout, first, second, _, coalesced = _C._sparse_parts(x)

        def moved(i: Tensor) -> Tensor:
            return i.clone() if name == "clone" else i.to(v.device)

        return _C._make_sparse(layout, moved(first), None if second is None else moved(second), v, coalesced, tuple(x.shape))

    def gradient(g: Tensor) -> Tensor:
        return -g if name == "neg" else g if name == "clone" else g.to(x.dtype)

    return record(node_name(op), compute, lambda g, x: (lambda: gradient(g),), x)


@rule("conj", every_layout=True)
def conj(op: Any, args: list[Any]) -> Any:
    x = args[0]
    if not x.is_complex():
        return x
    return record(node_name(op), lambda x: with_values(x, values_of(x).conj().resolve_conj()), lambda g, x: (lambda: g.conj(),), x)


@rule("detach", every_layout=True)
def detach(op: Any, args: list[Any]) -> Any:
    return _C._sparse_alias(args[0])


@rule("alias", every_layout=True)
def alias(op: Any, args: list[Any]) -> Any:
    return record("AliasBackward0", _C._sparse_alias, lambda g, x: (lambda: g,), args[0])


@rule("contiguous", every_layout=True)
def contiguous(op: Any, args: list[Any]) -> Any:
    return args[0]


def without_values(t: Tensor, dtype: Any = None) -> Tensor:
    """Return a tensor of zeros: with the layout, size, blocks and dense dimensions of `t`, and no values."""
    layout, indices, plain, v, _ = _C._sparse_parts(t)
    if layout is COO:
        return make_coo(indices.new_empty(indices.shape[0], 0), v.new_empty(0, *v.shape[1:], dtype=dtype), t.shape, False)
    batch = indices.shape[:-1]
    nothing = v.new_empty(*batch, 0, *v.shape[len(batch) + 1 :], dtype=dtype)
    return _C._make_sparse(layout, undertow.zeros_like(indices), plain.new_empty(*batch, 0), nothing, True, tuple(t.shape))


def filled(t: Tensor, number: Any, dtype: Any) -> Tensor:
    """Return a compressed tensor with the indices of `t`, all of whose values are one number, or uninitialized for None."""
    layout, indices, plain, v, _ = _C._sparse_parts(t)
    v = undertow.empty_like(v, dtype=dtype) if number is None else undertow.full_like(v, number, dtype=v.dtype if dtype is None else dtype)
    return _C._make_sparse(layout, indices.clone(), plain.clone(), v, True, tuple(t.shape))


@rule("like", every_layout=True)
def like(op: Any, args: list[Any]) -> Any:
    """zeros_like, empty_like, ones_like, full_like. Ones are those of the values that a compressed tensor has."""
    if args[-2] is not None:
        raise RuntimeError("memory format option is only supported by strided tensors")
    name, t, number, dtype, device = op.public, args[0], args[1], args[-3], args[-1]
    if name == "zeros_like" or name == "empty_like" and t.layout is COO:
        made = without_values(t, dtype)
    elif t.layout is COO:
        raise missing("fill_", t)
    else:
        made = filled(t, {"empty_like": None, "ones_like": 1}.get(name, number), dtype)
    return made if device is None else made.to(device)


@rule("random_like", every_layout=True)
def random_like(op: Any, args: list[Any]) -> Any:
    """rand_like, randn_like, randint_like of compressed tensors: random values at the same indices."""
    t = args[0].detach()
    if t.layout is COO:
        raise missing(op.public, t)
    return with_values(t, op(values_of(t), *args[1:]))


@rule("new", every_layout=True)
def new(op: Any, args: list[Any]) -> Any:
    """new_zeros, new_empty; a sparse tensor has no other constants."""
    from undertow.sparse._factories import zeros

    t = args[0]
    if op.public not in ("new_zeros", "new_empty"):
        raise missing("fill_", t)
    return zeros(op.public, t.layout, args[1], t.dtype if args[2] is None else args[2], args[3])


@rule("zero", every_layout=True)
def zero(op: Any, args: list[Any]) -> Any:
    return without_values(args[0].detach())


@rule("fill", every_layout=True)
def fill(op: Any, args: list[Any]) -> Any:
    t, number = args[0].detach(), args[1]
    if t.layout is COO:
        raise missing("fill_", t)
    return filled(t, number.item() if isinstance(number, _C.Tensor) else number, None)


def _check_copy(to: Tensor, source: Tensor) -> None:
    """Raise unless two tensors of one compressed layout have parts of the same sizes."""
    if to._nnz() != source._nnz():
        counts = f"got {to._nnz()} and {source._nnz()}"
        raise RuntimeError(f"torch.copy_: only sparse compressed tensors with the same number of specified elements are supported; {counts}")
    for d, (n, m) in enumerate(zip(to.shape, source.shape, strict=False)):
        if n != m:
            raise RuntimeError(
                f"torch.copy_: expected shapes of self and src to match along dimension {d}, but got {list(to.shape)} and {list(source.shape)}"
            )
    if block_of(to) != block_of(source):
        sizes = f"self and src block sizes are {block_of(to)} and {block_of(source)}, respectively"
        raise RuntimeError(f"torch.copy_: copy of sparse compressed tensors having different block sizes is not supported. {sizes}")


@rule("copy", every_layout=True)
def copy(op: Any, args: list[Any]) -> Any:
    to, source = args[0], args[1]
    compressed = to.layout in COMPRESSED
    if to.layout is not source.layout and (compressed or source.layout in COMPRESSED):
        kinds = f"self layout is {title(to.layout)} and src layout is {title(source.layout)}"
        raise RuntimeError(f"torch.copy_: copy of sparse compressed tensors having different layouts is not supported. {kinds}")
    if is_sparse(to) != is_sparse(source):
        raise RuntimeError("copy_() between dense and sparse Tensors is not implemented! Use to_dense() or to_sparse() on one of them")
    if compressed:
        _check_copy(to, source)
    if to.shape != source.shape:
        raise RuntimeError(f"copy_: the sizes of sparse tensors must be equal, got {list(to.shape)} and {list(source.shape)}")
    return source.to(to.dtype, copy=True)


# ---- sums ----


def _same_size(name: str, a: Tensor, b: Tensor, note: str = "") -> None:
    if a.shape != b.shape:
        sizes = f"self has size {list(a.shape)} while other has size {list(b.shape)}"
        raise RuntimeError(f"{name}: expected 'self' and 'other' to have same size, but {sizes}{note}")


def add(a: Any, b: Any, alpha: Any = 1, name: str = "AddBackward0") -> Tensor:
    """Return a + alpha * b, where b is sparse and a sparse or strided."""
    if is_sparse(a) and not is_sparse(b):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if not isinstance(a, _C.Tensor):
        raise RuntimeError("add: a number and a sparse tensor have no sparse sum; use to_dense() first")
    _same_size("add", a, b, "" if is_sparse(a) else " (FYI: dense-sparse addition does not currently support broadcasting)")
    compute = _joined if is_sparse(a) else _added
    return record(
        name,
        lambda x, y: compute(x, y, alpha),
        lambda g, x, y: (lambda: _in_dtype(g, x), lambda: _in_dtype(g if alpha == 1 else g * alpha, y)),
        a,
        b,
    )


def _in_dtype(g: Tensor, x: Tensor) -> Tensor:
    if g.is_complex() and not x.is_complex():
        g = on_values("RealBackward0", lambda v: v.real, coalesce(g)) if is_sparse(g) else g.real
    return g if g.dtype is x.dtype else g.to(x.dtype)


def _joined(a: Tensor, b: Tensor, alpha: Any) -> Tensor:
    dtype = undertow.promote_types(a.dtype, b.dtype)
    v, w = values_of(a).to(dtype), values_of(b).to(dtype)
    if v.dim() != w.dim() and not (v.shape[0] and w.shape[0]):  # one has no values, and the sum has the dimensions of the other
        return with_values(a, v) if v.shape[0] else with_values(b, w if alpha == 1 else w * alpha)
    if v.dim() != w.dim():
        counts = f"'self' has {a.sparse_dim()} sparse dimensions while 'other' has {b.sparse_dim()} sparse dimensions"
        raise RuntimeError(f"add: expected 'self' and 'other' to have same density, but {counts}")
    out = make_coo(undertow.cat([indices_of(a), indices_of(b)], 1), undertow.cat([v, w if alpha == 1 else w * alpha]), a.shape)
    return coalesce(out) if is_coalesced(a) and is_coalesced(b) else out


def _added(a: Tensor, b: Tensor, alpha: Any) -> Tensor:
    return at_version_0(add_into(a.to(undertow.promote_types(a.dtype, b.dtype), copy=True), b, alpha))


def add_into(a: Tensor, b: Tensor, alpha: Any = 1) -> Tensor:
    """Add alpha * b to a strided tensor, in place, at the indices of b only."""
    indices, v = indices_of(b), values_of(b).to(a.dtype)
    if indices.shape[0] == 1:
        return a.index_add_(0, indices[0], v, alpha=alpha)
    v = v if alpha == 1 else v * alpha
    return a.index_put_(tuple(indices), v, accumulate=True) if indices.shape[0] else a.add_(v.sum(0))


@rule("add", every_layout=True)
def add_rule(op: Any, args: list[Any]) -> Any:
    a, b, alpha = args
    layouts = {t.layout for t in (a, b) if is_sparse(t)}
    if layouts != {COO}:
        if is_sparse(a) and isinstance(b, _C.Tensor) and not is_sparse(b):  # torch has this sum for compressed tensors only
            return add(b if alpha == 1 else b * alpha, to_coo(a, strided_grad=True))
        return through_coo(add_rule, op, args)
    if op.inplace and not is_sparse(a):
        _same_size("add", a, b, " (FYI: dense-sparse addition does not currently support broadcasting)")
        if not undertow.can_cast(b.dtype, a.dtype):
            raise RuntimeError(f"result type {b.dtype} can't be cast to the desired output type {a.dtype}")
        if undertow.is_grad_enabled() and b.requires_grad:
            return a.add_(to_dense(b), alpha=alpha)
        return add_into(a, b.detach(), alpha)
    return add(a, b, alpha)


@rule("sub")
def sub_rule(op: Any, args: list[Any]) -> Any:
    a, b, alpha = args
    if op.public.startswith("rsub"):
        a, b = b, a
        if not isinstance(a, _C.Tensor):
            raise missing("rsub", args[0])
    if op.inplace and not is_sparse(a):
        return add_rule(op, [a, b, -alpha])
    return add(a, b, -alpha, "SubBackward0")


# ---- products ----


def _at(dense: Tensor, indices: Tensor, size: Sequence[int]) -> Tensor:
    return values_at(dense.expand(size), indices)


def expand(t: Tensor, size: Sequence[int]) -> Tensor:
    """Return a COO tensor broadcast to `size`; only sparse dimensions are expanded."""
    extra = len(size) - t.dim()
    indices, v = indices_of(t), values(t) if is_coalesced(t) else values_of(t)
    for d in reversed(range(len(size) - (v.dim() - 1))):
        old = 1 if d < extra else t.shape[d - extra]
        if old == size[d] and d >= extra:
            continue
        count, steps = indices.shape[1], undertow.arange(size[d], device=indices.device)
        rows = list(indices.repeat(1, size[d]))
        fresh = steps.repeat_interleave(count)
        if d < extra:
            rows.insert(0, fresh)
        else:
            rows[d - (extra if len(rows) < len(size) - v.dim() + 1 else 0)] = fresh
        indices, v = undertow.stack(rows), v.repeat(size[d], *(1,) * (v.dim() - 1))
    return coo_from(indices, v, size)


def mul(a: Any, b: Any) -> Tensor:
    """Return the product; at least one operand is a COO tensor."""
    if not is_sparse(a) or is_sparse(b) and values_of(b).dim() > values_of(a).dim():
        a, b = b, a  # the result has the dense dimensions of the first
    if not isinstance(b, _C.Tensor):
        other = b.conjugate() if isinstance(b, complex) else b
        return record("MulBackward0", lambda x: with_values(x, values_of(x) * b), lambda g, x: (lambda: _in_dtype(g * other, x),), a)
    size = undertow.broadcast_shapes(a.shape, b.shape)
    if tuple(a.shape) != tuple(size):
        a = expand(a if not a.requires_grad else coalesce(a), size)
    if is_sparse(b) and values_of(a).dim() != values_of(b).dim():
        b = to_dense(b)  # the two index different dimensions
    if is_sparse(b):
        if tuple(b.shape) != tuple(size):
            b = expand(coalesce(b), size)
        a, b = coalesce(a), coalesce(b)

    def compute(x: Tensor, y: Tensor) -> Tensor:
        indices = indices_of(x)
        if not is_sparse(y):
            return with_values(x, values_of(x) * (y if y.dim() == 0 else _at(y, indices, x.shape)))
        return _intersection(x, y)

    def gradient_of_dense(g: Tensor, x: Tensor, y: Tensor) -> Tensor:
        found = g * x.conj()
        return _in_dtype(found if found.shape == y.shape else to_dense(found).sum_to_size(y.shape), y)

    return record("MulBackward0", compute, lambda g, x, y: (lambda: _in_dtype(g * y.conj(), x), lambda: gradient_of_dense(g, x, y)), a, b)


def _intersection(x: Tensor, y: Tensor) -> Tensor:
    """Return the product of two coalesced tensors, at the indices that both have."""
    indices = undertow.cat([indices_of(x), indices_of(y)], 1)
    keys, counts = undertow.unique(positions(indices, x.shape), return_counts=True)
    both = undertow.isin(positions(indices_of(x), x.shape), keys[counts == 2])
    at = indices_of(x)[:, both]
    return make_coo(at, values_of(x)[both] * values_at(y, at), x.shape, True)


def _by_number(a: Any, b: Any) -> bool:
    """Return True for a compressed tensor and a number."""
    return is_sparse(a) and a.layout is not COO and not isinstance(b, _C.Tensor)


@rule("mul", every_layout=True)
def mul_rule(op: Any, args: list[Any]) -> Any:
    a, b = args
    if _by_number(a, b) or _by_number(b, a):
        return mul(a, b)
    if {t.layout for t in (a, b) if is_sparse(t)} != {COO}:
        return through_coo(mul_rule, op, args)
    if op.inplace and not is_sparse(a):
        if undertow.is_grad_enabled() and (a.requires_grad or b.requires_grad):
            return a.mul_(to_dense(b))
        return a.mul_(to_dense(b.detach()))
    return mul(a, b)


@rule("div", every_layout=True)
def div_rule(op: Any, args: list[Any]) -> Any:
    a, b, *mode = args
    rounding: Any = "floor" if op.public.startswith("floor_divide") else mode[0] if mode else None
    if isinstance(b, _C.Tensor) and (is_sparse(b) or b.dim()):
        kind = "floor division" if rounding == "floor" else "division"
        raise RuntimeError(f"Sparse {kind} requires a scalar or zero-dim dense tensor divisor (got shape {list(b.shape)} for divisor)")
    if not is_sparse(a):
        raise missing("div", b)
    a = without_duplicates(a) if rounding else a
    inputs = (a, b) if isinstance(b, _C.Tensor) else (a,)

    def compute(x: Tensor, *rest: Tensor) -> Tensor:
        return with_values(x, undertow.div(values_of(x), b, rounding_mode=rounding))

    def gradients(g: Tensor, x: Tensor, *rest: Tensor) -> Any:
        if rounding:
            return tuple((lambda t=t: undertow.zeros_like(t)) for t in (x, *rest))
        return lambda: _in_dtype(g / b, x), *((lambda: -to_dense(g * x).sum() / (b * b),) if rest else ())

    return record("DivBackward0", compute, gradients, *inputs)
