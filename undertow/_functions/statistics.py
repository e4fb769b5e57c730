"""Covariance, correlation and numerical gradients, composed of other operators."""

from __future__ import annotations

import warnings

import undertow as ut
from undertow._C import Tensor
from undertow._override import overridable, overridable_with_numpy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = ["corrcoef", "cov", "gradient"]


def _check_weights(name: str, weights: Tensor, observations: int, kind: str) -> None:
    if weights.dim() > 1:
        raise RuntimeError(f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights.dim()} dimensions")
    found = "floating point" if weights.dtype.is_floating_point else "integral" if not (weights.dtype.is_complex or weights.dtype == ut.bool) else ""
    if found != kind:
        raise RuntimeError(f"cov(): expected {name} to have {kind} dtype but got {name} with {weights.dtype} dtype")
    if weights.numel() != observations:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got "
            f"{weights.numel()} != {observations}"
        )
    if bool((weights < 0).any()):
        raise RuntimeError(f"cov(): {name} cannot be negative")


def _weights(fweights: Tensor | None, aweights: Tensor | None, observations: int) -> Tensor | None:
    if fweights is not None:
        _check_weights("fweights", fweights, observations, "integral")
    if aweights is not None:
        _check_weights("aweights", aweights, observations, "floating point")
    if fweights is not None and aweights is not None:
        return fweights * aweights
    return fweights if fweights is not None else aweights


@overridable
def cov(input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """Compute the covariance matrix of the rows of `input`: each row is a variable, each column an observation.

    >>> import undertow as ut
    >>> ut.cov(ut.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if input.dim() > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got an input with {input.dim()} dimensions")
    if input.dtype == ut.bool:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    rows = input if input.dim() == 2 else input.view([1, -1])
    observations = rows.size(1)
    w = _weights(fweights, aweights, observations)
    if w is None:
        total: Any = observations
    else:
        total = w.sum()
        if observations and total.item() == 0:
            raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    average = (rows if w is None else rows * w).sum(1) / total
    if w is not None and aweights is not None and correction != 0:
        norm = total - correction * (w * aweights).sum() / total
    else:
        norm = total - correction
    if bool(norm <= 0):
        warnings.warn("cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.", stacklevel=3)
        norm = 0
    centred = rows - average.unsqueeze(1)
    product = centred @ (centred if w is None else centred * w).t().conj()
    return (product / norm).squeeze()


@overridable
def corrcoef(input: Tensor) -> Tensor:
    """Compute the correlation matrix of the rows of `input`.

    >>> import undertow as ut
    >>> ut.corrcoef(ut.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if input.dim() > 2:
        raise RuntimeError(f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input.dim()} dimensions")
    c = cov(input)
    if c.dim() == 0:
        return c / c
    d = c.diag()
    size = (d.real if d.is_complex() else d).sqrt()
    c = c / size.view([-1, 1]) / size.view([1, -1])
    if c.is_complex():
        return ut.complex(c.real.clip(-1, 1), c.imag.clip(-1, 1))
    return c.clip(-1, 1)


def _along(t: Tensor, dim: int, values: Tensor) -> Tensor:
    """Reshape a vector so that it broadcasts along `dim` of `t`."""
    return values.view([-1 if d == dim else 1 for d in range(t.dim())])


def _even(t: Tensor, dim: int, h: Any, edge_order: int) -> Tensor:
    n = t.size(dim)
    f = [t.narrow(dim, k, 1) for k in (0, 1)]
    g = [t.narrow(dim, n - 1 - k, 1) for k in (0, 1)]
    middle = (t.narrow(dim, 2, n - 2) - t.narrow(dim, 0, n - 2)) / (2 * h)
    if edge_order == 1:
        first, last = (f[1] - f[0]) / h, (g[0] - g[1]) / h
    else:
        first = (-1.5 * f[0] + 2 * f[1] - 0.5 * t.narrow(dim, 2, 1)) / h
        last = (1.5 * g[0] - 2 * g[1] + 0.5 * t.narrow(dim, n - 3, 1)) / h
    return ut.cat([first, middle, last], dim)


def _uneven(t: Tensor, dim: int, x: Tensor, edge_order: int) -> Tensor:
    n = t.size(dim)
    h = x.diff()
    before, after = h[:-1], h[1:]
    a = _along(t, dim, -after / (before * (before + after)))
    b = _along(t, dim, (after - before) / (before * after))
    c = _along(t, dim, before / (after * (before + after)))
    middle = a * t.narrow(dim, 0, n - 2) + b * t.narrow(dim, 1, n - 2) + c * t.narrow(dim, 2, n - 2)

    def edge(places: Sequence[int], h1: Tensor, h2: Tensor | None) -> Tensor:
        f = [t.narrow(dim, place, 1) for place in places]
        if h2 is None:
            return (f[1] - f[0]) / h1
        return -(2 * h1 + h2) / (h1 * (h1 + h2)) * f[0] + (h1 + h2) / (h1 * h2) * f[1] - h1 / (h2 * (h1 + h2)) * f[2]

    if edge_order == 1:
        first, last = edge((0, 1), h[0], None), edge((n - 1, n - 2), -h[-1], None)
    else:
        first, last = edge((0, 1, 2), h[0], h[1]), edge((n - 1, n - 2, n - 3), -h[-1], -h[-2])
    return ut.cat([first, middle, last], dim)


def _check_gradient(input: Tensor, spacings: list[Any], dims: list[int], edge_order: int) -> None:
    if input.dtype == ut.uint8:
        raise RuntimeError("undertow.gradient does not support uint8 input.")
    if edge_order not in (1, 2):
        raise RuntimeError("undertow.gradient only supports edge_order=1 and edge_order=2.")
    for d in dims:
        if dims.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
        if input.size(d) < edge_order + 1:
            raise RuntimeError("undertow.gradient expected each dimension size to be at least edge_order+1")
    for d, spacing in zip(dims, spacings, strict=True):
        if isinstance(spacing, Tensor):
            if spacing.dim() != 1:
                raise RuntimeError(
                    "undertow.gradient expected each element of spacing to have one dimension, "
                    f"but got an element with {spacing.dim()} dimensions!"
                )
            if spacing.numel() != input.size(d):
                raise RuntimeError(
                    f"undertow.gradient expected spacing to be the coordinates along dim {d}, of {input.size(d)} elements, but got {spacing.numel()}"
                )


@overridable_with_numpy_names
def gradient(
    input: Tensor,
    *,
    spacing: Any = None,
    dim: int | Sequence[int] | None = None,
    edge_order: int = 1,
) -> tuple[Tensor, ...]:
    """Estimate the derivatives along each dimension with finite differences.

    `spacing` is the distance between samples (default 1): one number, one per dimension, or a list of coordinate vectors.

    >>> import undertow as ut
    >>> ut.gradient(ut.tensor([1.0, 2.0, 4.0, 7.0]))
    (tensor([1.0000, 1.5000, 2.5000, 3.0000]),)
    """
    spacing = 1 if spacing is None else spacing
    if dim is None:
        several = isinstance(spacing, (list, tuple))
        dims = list(range(input.dim()))
        if several and len(spacing) != len(dims):
            raise RuntimeError(
                f"undertow.gradient expected spacing to be unspecified, a scalar, or a list of length equal to 'self.dim() = {input.dim()}', "
                f"since dim argument was not given, but got a list of length {len(spacing)}"
            )
    else:
        dims = [dim] if isinstance(dim, int) else list(dim)
        if isinstance(spacing, (list, tuple)) and len(spacing) != len(dims):
            raise RuntimeError(
                f"undertow.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the same length, "
                f"but got a spacing argument of length {len(spacing)} and a dim argument of length {len(dims)}."
            )
    for d in dims:
        if not -input.dim() <= d < input.dim():
            raise IndexError(f"Dimension out of range (expected to be in range of [{-input.dim()}, {input.dim() - 1}], but got {d})")
    dims = [d % input.dim() for d in dims]
    spacings = list(spacing) if isinstance(spacing, (list, tuple)) else [spacing] * len(dims)
    _check_gradient(input, spacings, dims, edge_order)
    return tuple(
        _uneven(input, d, s, edge_order) if isinstance(s, Tensor) and s.dim() else _even(input, d, s, edge_order)
        for d, s in zip(dims, spacings, strict=True)
    )
