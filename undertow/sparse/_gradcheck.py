"""What checks of gradients need for sparse tensors: all elements specified, one element changed, and functions of values."""

from __future__ import annotations

import functools

import undertow
from undertow.sparse._convert import all_specified, coalesce, from_values, to_coo, to_dense
from undertow.sparse._parts import COO, indices_of, is_sparse, positions, values_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    import numpy as np

    from undertow import Tensor


def first_of_each_index(t: Tensor) -> Tensor:
    """Return, for each value of a tensor in COO layout, whether it is the first one at its index."""
    flat = positions(indices_of(t), t.shape)
    order = flat.argsort(stable=True)
    new = undertow.cat([flat.new_ones(1, dtype=undertow.bool), flat[order].diff() != 0])[: flat.shape[0]]
    return undertow.zeros_like(new).index_put((order,), new)


def specified(t: Tensor) -> np.ndarray:
    """Return a dense array that is 1 at the elements that a sparse tensor specifies and 0 elsewhere."""
    plain = to_coo(t.detach())
    ones = from_values(plain, undertow.ones_like(values_of(plain), dtype=undertow.float64))
    return to_dense(coalesce(ones)).clamp(max=1).numpy()


def moved_values(t: Tensor, direction: Tensor) -> Tensor:
    """Return what to add to the values of `t` so that it moves along a dense direction, where it has values."""
    plain = to_coo(t.detach())
    at = direction[tuple(indices_of(plain))] if indices_of(plain).shape[0] else direction[None]
    if t.layout is COO:  # of several values at one index, only one moves
        at = at * first_of_each_index(plain).reshape(-1, *(1,) * (at.dim() - 1))
    return at.reshape(values_of(t).shape)


def as_sparse_gradcheck(gradcheck: Callable[..., bool]) -> Callable[..., bool]:
    """Return a `gradcheck` for functions that take or return sparse tensors. It checks a function of strided tensors: the values.

    >>> import undertow as ut
    >>> x = ut.tensor([[0.0, 1.0], [2.0, 3.0]], dtype=ut.float64).to_sparse().requires_grad_()
    >>> as_sparse_gradcheck(ut.autograd.gradcheck)(lambda x: x.to_sparse_csr(), x)
    True
    """

    @functools.wraps(gradcheck)
    def check(func: Callable[..., Any], inputs: Any, *, masked: bool = False, **options: Any) -> bool:
        given = tuple(inputs) if isinstance(inputs, (list, tuple)) else (inputs,)
        models = [_model(x, masked) for x in given]
        leaves = tuple(x if m is None else values_of(m).detach().clone().requires_grad_() for x, m in zip(given, models, strict=True))

        def of_values(*args: Any) -> Any:
            found = func(*(a if m is None else from_values(m, a) for a, m in zip(args, models, strict=True)))
            if isinstance(found, (list, tuple)):
                return tuple(_dense(o, masked) for o in found)
            return _dense(found, masked)

        return gradcheck(of_values, leaves, **options)

    return check


def _model(x: Any, masked: bool) -> Tensor | None:
    if not (is_sparse(x) and x.requires_grad):
        return None
    return x.detach() if masked else all_specified(x)


def _dense(o: Any, masked: bool) -> Any:
    return to_dense(o, masked_grad=masked) if is_sparse(o) and o.requires_grad else o
