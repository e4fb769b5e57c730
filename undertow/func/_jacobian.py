"""`jacrev`, `jacfwd` and `hessian`: whole Jacobians, one row or column per basis vector, all at once with vmap."""

from __future__ import annotations

from functools import wraps

import undertow
from undertow import _C
from undertow._vmap import vmap
from undertow._vmap._api import vmap_over_tangents
from undertow.func._forward import jvp_among
from undertow.func._reverse import check_argnums, replaced, vjp_among
from undertow.utils._pytree import tree_flatten, tree_unflatten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from undertow import Tensor
    from undertow.utils._pytree import TreeSpec

    ArgNums = int | tuple[int, ...]


def zeros_for(t: Tensor, size: Sequence[int]) -> Tensor:
    """Return zeros to be used with t: of its dtype and device and, if it wraps other tensors, of its class; not batched as t may be."""
    return t.new_zeros(size) if _C._is_dispatched(t) else undertow.zeros(size, dtype=t.dtype, device=t.device)


def basis(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return the standard basis of the space of all tensors together, split by tensor: one row per element."""
    total = sum(t.numel() for t in tensors)
    out = []
    start = 0
    for t in tensors:
        rows = zeros_for(t, (total, t.numel()))
        rows.diagonal(-start).fill_(1)
        out.append(rows.reshape(total, *t.shape))
        start += t.numel()
    return out


def _check_inputs(leaves: list[Any]) -> None:
    for leaf in leaves:
        if not isinstance(leaf, _C.Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(leaf)}")


def _check_real(leaves: list[Any], who: str, which: str) -> None:
    """Raise for complex tensors: a Jacobian has one derivative for each pair of elements, which is not enough for them."""
    for at, leaf in enumerate(leaves):
        if isinstance(leaf, _C.Tensor) and leaf.is_complex():
            raise RuntimeError(f"{who}: Expected all {which} to be real but received complex tensor at flattened input idx: {at}")


def _rows(pull: Callable[..., Any], units: list[Tensor], spec: TreeSpec, chunk_size: int | None) -> Any:
    """Return the gradients that belong to each row of `units`, with vmap unless there is one row at a time, which may do what vmap cannot."""
    if chunk_size == 1 and units and units[0].size(0):
        each = [pull(tree_unflatten([unit[row] for unit in units], spec)) for row in range(units[0].size(0))]
        return tuple(undertow.stack(column) for column in zip(*each, strict=True))
    return vmap(lambda *rows: pull(tree_unflatten(rows, spec)), chunk_size=chunk_size)(*units)


def jacrev(
    func: Callable[..., Any], argnums: ArgNums = 0, *, has_aux: bool = False, chunk_size: int | None = None, _preallocate_and_copy: bool = False
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of `func` in reverse mode, with one backward pass over all outputs.

    The result has the structure of the output of func, with the structure of the arguments at `argnums` in each
    leaf. `chunk_size` is the number of rows to compute at a time; with 1 the backward pass is not vectorized, and may do what vmap
    cannot. With `has_aux`, func returns (output, aux), and the result is (Jacobian, aux). `_preallocate_and_copy` is accepted and has no effect.

    >>> import undertow as ut
    >>> ut.func.jacrev(lambda x: x * x.sum())(ut.tensor([1.0, 2.0]))
    tensor([[4., 1.],
            [2., 5.]])
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @wraps(func)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        positions = check_argnums(argnums, len(args))
        leaves, spec = tree_flatten(tuple(args[n] for n in positions))

        def on_leaves(*values: Any) -> Any:
            return func(*replaced(args, positions, tree_unflatten(values, spec)), **kwargs)

        _check_real(leaves, "jacrev", "inputs")
        output, pull, *aux = vjp_among((args, kwargs), on_leaves, tuple(leaves), has_aux)
        outputs, out_spec = tree_flatten(output)
        _check_real(outputs, "jacrev", "outputs")
        rows = _rows(pull, basis(outputs), out_spec, chunk_size)
        blocks = []
        start = 0
        for o in outputs:
            parts = [r[start : start + o.numel()].reshape((*o.shape, *x.shape)) for r, x in zip(rows, leaves, strict=True)]
            found = tree_unflatten(parts, spec)
            blocks.append(found[0] if isinstance(argnums, int) else found)
            start += o.numel()
        jacobian = tree_unflatten(blocks, out_spec)
        return (jacobian, *aux) if has_aux else jacobian

    return transformed


def jacfwd(
    func: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of `func` in forward mode, with the tangents of all inputs at once.

    The result has the same structure as that of `jacrev`. `randomness` is passed to vmap, for random operators in func.

    >>> import undertow as ut
    >>> ut.func.jacfwd(lambda x: x * x.sum())(ut.tensor([1.0, 2.0]))
    tensor([[4., 1.],
            [2., 5.]])
    """

    @wraps(func)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        positions = check_argnums(argnums, len(args))
        leaves, spec = tree_flatten(tuple(args[n] for n in positions))
        _check_inputs(leaves)
        _check_real(leaves, "jacfwd", "inputs")

        def on_leaves(*values: Any) -> Any:
            return func(*replaced(args, positions, tree_unflatten(values, spec)), **kwargs)

        def push(*units: Any) -> Any:
            _, moved, *aux = jvp_among((args, kwargs), on_leaves, tuple(leaves), units, False, has_aux)
            return (moved, aux[0]) if has_aux else moved

        result = vmap_over_tangents(push, randomness)(*basis(leaves))
        moved, aux = result if has_aux else (result, None)
        columns, out_spec = tree_flatten(moved)
        _check_real(columns, "jacfwd", "outputs")
        blocks = []
        for column in columns:
            shape = column.shape[1:]
            column = column.movedim(0, -1)
            parts = []
            start = 0
            for x in leaves:
                parts.append(column[..., start : start + x.numel()].reshape((*shape, *x.shape)))
                start += x.numel()
            found = tree_unflatten(parts, spec)
            blocks.append(found[0] if isinstance(argnums, int) else found)
        jacobian = tree_unflatten(blocks, out_spec)
        if not has_aux:
            return jacobian
        kept, aux_spec = tree_flatten(aux)  # the same for every column
        return jacobian, tree_unflatten([t[0] for t in kept], aux_spec)

    return transformed


def hessian(func: Callable[..., Any], argnums: ArgNums = 0) -> Callable[..., Any]:
    """Return a function that computes the Hessian of `func`, with forward mode over reverse mode.

    >>> import undertow as ut
    >>> ut.func.hessian(lambda x: (x**3).sum())(ut.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
