"""Numerical Jacobians, under the names that tests import from torch.autograd.gradcheck."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import undertow as ut
from undertow.autograd._gradcheck.numerical import as_tuple, numerical_jacobians

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

__all__ = ["_get_numerical_jacobian", "_iter_tensors", "get_analytical_jacobian", "get_numerical_jacobian"]


def _iter_tensors(x: Any, only_requiring_grad: bool = False) -> Iterator[Any]:
    """Iterate over the tensors in nested sequences, from left to right.

    >>> import undertow as ut
    >>> len(list(_iter_tensors([ut.ones(1), [ut.ones(2)]])))
    2
    """
    if isinstance(x, ut.Tensor):
        if x.requires_grad or not only_requiring_grad:
            yield x
    elif isinstance(x, Iterable) and not isinstance(x, str):
        for each in x:
            yield from _iter_tensors(each, only_requiring_grad)


def _get_numerical_jacobian(
    fn: Callable[..., Any], inputs: Any, outputs: Any = None, target: Any = None, eps: float = 1e-3, is_forward_ad: bool = False
) -> list[tuple[Any, ...]]:
    """Compute the Jacobian (numel in, numel out) of every output for every tensor in `target` (default: the inputs) that requires grad.

    >>> import undertow as ut
    >>> x = ut.tensor([1.0, 2.0], dtype=ut.float64, requires_grad=True)
    >>> _get_numerical_jacobian(lambda x: x * x, x, eps=1e-6)[0][0].round(decimals=3).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    given = as_tuple(inputs)
    found = []
    for x in _iter_tensors(given if target is None else target, only_requiring_grad=True):
        if x.is_complex():
            raise NotImplementedError("_get_numerical_jacobian: complex tensors are not supported; gradcheck supports them")
        outs = [o for o in as_tuple(fn(*given) if outputs is None else outputs) if isinstance(o, ut.Tensor)]
        found.append(tuple(ut.tensor(real.tolist(), dtype=o.dtype).reshape(real.shape)
                           for (real, _), o in zip(numerical_jacobians(fn, given, x, eps), outs, strict=True)))
    return found


def get_numerical_jacobian(fn: Callable[..., Any], inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0) -> tuple[Any, ...]:
    """Compute the Jacobian of the first output of fn(inputs) with respect to every tensor; deprecated in torch."""
    warnings.warn("`get_numerical_jacobian` was part of PyTorch's private API and not meant to be exposed.", FutureWarning, stacklevel=2)
    if grad_out != 1.0:
        raise ValueError("Expected grad_out to be 1.0. get_numerical_jacobian no longer supports values of grad_out != 1.0.")
    return tuple(each[0] for each in _get_numerical_jacobian(lambda *x: fn(x), inputs, None, target, eps))


def get_analytical_jacobian(inputs: Any, output: Any, nondet_tol: float = 0.0, grad_out: float = 1.0) -> tuple[Any, bool, bool, bool]:
    """Compute the Jacobian of `output` for each input by backward passes; deprecated in torch.

    Also return whether a second pass gives the same result, and whether the gradients have the sizes and dtypes of the inputs.
    """
    warnings.warn("`get_analytical_jacobian` was part of PyTorch's private API and not meant to be exposed.", FutureWarning, stacklevel=2)
    if grad_out != 1.0:
        raise ValueError("Expected grad_out to be 1.0. get_analytical_jacobian no longer supports values of grad_out != 1.0.")
    if output.is_complex():
        raise ValueError("Expected output to be non-complex. get_analytical_jacobian no longer supports functions that return complex outputs.")
    given = [x for x in _iter_tensors(inputs) if x.requires_grad]
    found: list[list[Any]] = []
    for _ in range(2):
        columns = []
        for direction in ut.eye(output.numel(), dtype=output.dtype):
            columns.append(ut.autograd.grad(output, given, direction.reshape(output.shape), retain_graph=True, allow_unused=True))
        found.append([[ut.zeros_like(x) if g is None else g for g in each] for x, each in zip(given, zip(*columns, strict=True), strict=True)])
    sizes = all(g.shape == x.shape for x, each in zip(given, found[0], strict=True) for g in each)
    types = all(g.dtype == x.dtype for x, each in zip(given, found[0], strict=True) for g in each)
    first, second = (tuple(ut.stack([g.reshape(-1) for g in each], 1) for each in run) for run in found)
    same = all(not a.numel() or bool((a - b).abs().max() <= nondet_tol) for a, b in zip(first, second, strict=True))
    return first, same, sizes, types
