"""Functions with `out=` of which an argument is sparse: the result is computed first, and its parts become those of `out`."""

from __future__ import annotations

import undertow
from undertow import _C
from undertow.sparse._convert import to_dense
from undertow.sparse._dispatch import check_cast, tensors_in
from undertow.sparse._parts import COO, is_sparse, replace_by, title

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from undertow import Tensor

_PRODUCTS = ("mm", "addmm", "addmv", "mv", "bmm", "matmul")


def call_out(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute a function and write its results to `out`. Called by the bindings for functions of the core."""
    out = kwargs.pop("out")
    outs = list(out) if isinstance(out, (tuple, list)) else [out]
    if undertow.is_grad_enabled() and any(t.requires_grad for t in tensors_in([*args, *kwargs.values(), *outs])):
        why = "functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."
        raise RuntimeError(f"{function.__name__}(): {why}")
    if function.__name__ in ("zeros", "empty") and is_sparse(out):
        kwargs = {**kwargs, "layout": out.layout, "dtype": out.dtype}
    requires_grad = kwargs.pop("requires_grad", False)
    results = function(*args, **kwargs)
    for target, result in zip(outs, [results] if isinstance(results, _C.Tensor) else results, strict=True):
        _write_out(function.__name__, target, result)
    return out.requires_grad_() if requires_grad else out


def _write_out(name: str, out: Tensor, result: Tensor) -> Tensor:
    """Write a result into `out`, which gets its size, and return it. A compressed product may be written into a strided tensor."""
    if not is_sparse(out) and is_sparse(result) and result.layout is not COO and name in _PRODUCTS:
        result = to_dense(result)
    if out.layout is not result.layout:
        raise RuntimeError(f"{name}(..., out=): expected out to have the layout of the result, {title(result.layout)}, got {title(out.layout)}")
    check_cast(name, result, out)
    if is_sparse(out):
        return replace_by(out, result.to(out.dtype, copy=True))
    return out.resize_(result.shape).copy_(result)
