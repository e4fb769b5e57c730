"""Reductions and normalisations that ignore masked elements: only elements where `mask` is True are used.

Each fills the other elements with a value that does not change the result (0 for a sum) and calls the function of the same name. A
slice without unmasked elements gives the result of an empty slice: NaN for a mean, the identity for a sum. Sparse tensors are reduced by
`_sparse.py`.
"""

from __future__ import annotations

import math

import undertow
from undertow._C import Tensor
from undertow._override import overridable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from undertow import dtype as DType  # noqa: N812
    from undertow.masked._sparse import Name

    Dims = int | Sequence[int] | None

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]
_ELEMENTWISE = ("cumsum", "cumprod", "softmax", "log_softmax", "softmin", "normalize")  # functions with one result per element


def _canonical_dim(dim: Dims, ndim: int) -> tuple[int, ...]:
    """Return the non-negative dimensions in order, without duplicates; all of them for None and for ()."""
    if dim is None or dim == () or dim == []:
        return tuple(range(ndim))
    found: list[int] = []
    size = max(ndim, 1)
    for d in (dim,) if isinstance(dim, int) else dim:
        if not -size <= d < size:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], but got {d})")
        if d % size in found:
            raise RuntimeError(f"dim={d % size} appears multiple times in the list of dims")
        found.append(d % size)
    return tuple(sorted(found)) if ndim else ()


def _input_mask(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Return the keyword argument `mask`, expanded to the shape of the input."""
    mask = kwargs.get("mask")
    if mask is None:
        raise ValueError("mask must be specified")
    if mask.dim() > input.dim():
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    mask = mask if mask.layout == undertow.strided else mask.to_dense()  # what a sparse mask does not specify is masked
    return (mask if mask.dtype == undertow.bool else mask != 0).broadcast_to(input.shape)


def _output_mask(op: Any, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Return where the result of an operation of this module has at least one unmasked element."""
    inside = _input_mask(input, **kwargs)
    if op.__name__ in _ELEMENTWISE:
        return inside
    if op.__name__ == "norm":
        args = args[1:]
    dims = _canonical_dim(args[0] if args else kwargs.get("dim", -1 if op.__name__ == "median" else None), input.dim())
    return undertow.any(inside, dims, keepdim=bool(kwargs.get("keepdim"))) if dims else inside


def _check_strided(name: str, input: Tensor) -> None:
    if input.layout is not undertow.strided:
        raise ValueError(f"masked {name} expects strided tensor (got {input.layout} tensor); sum, prod, amax and amin take sparse ones")


def _filled(input: Tensor, mask: Tensor | None, value: float) -> Tensor:
    _check_strided("operation", input)
    if mask is None:
        return input
    return undertow.where(_input_mask(input, mask=mask), input, undertow.tensor(value, dtype=input.dtype))


def _of_sparse(name: Name, input: Tensor, dim: Dims, keepdim: bool, mask: Tensor | None, of_none: float) -> Tensor:
    from undertow.masked._sparse import reduced

    return reduced(name, input, _canonical_dim(dim, input.dim()), keepdim, None if mask is None else _input_mask(input, mask=mask), of_none)


def _limit(of: DType, largest: bool) -> float:
    """Return the lowest (or, if `largest`, the highest) value of the dtype; infinity for floating point."""
    if of.is_floating_point or of.is_complex:
        return math.inf if largest else -math.inf
    if of == undertow.bool:
        return largest
    return undertow.iinfo(of).max if largest else undertow.iinfo(of).min


def _cast(input: Tensor, dtype: DType | None) -> Tensor:
    return input if dtype is None else input.to(dtype)


def _summed(input: Tensor, dtype: DType | None) -> Tensor:
    """Convert to the dtype of sums and products."""
    whole = not (input.is_floating_point() or input.is_complex())
    return _cast(input, undertow.int64 if dtype is None and whole else dtype)


@overridable
def sum(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the sum of the unmasked elements.

    >>> import undertow as ut
    >>> ut.masked.sum(ut.tensor([1, 2, 4]), mask=ut.tensor([True, False, True]))
    tensor(5)
    """
    x = _summed(input, dtype)
    if x.layout is not undertow.strided:
        return _of_sparse("sum", x, dim, keepdim, mask, 0)
    x = _filled(x, mask, 0)
    dims = _canonical_dim(dim, x.dim())
    return undertow.sum(x, dims, keepdim=keepdim) if dims else x.clone()


@overridable
def prod(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the product of the unmasked elements."""
    x = _summed(input, dtype)
    if x.layout is not undertow.strided:
        return _of_sparse("prod", x, dim, keepdim, mask, 1)
    x = _filled(x, mask, 1)
    dims = _canonical_dim(dim, x.dim())
    for d in reversed(dims):
        x = undertow.prod(x, d, keepdim=keepdim)
    return x if dims else x.clone()


@overridable
def cumsum(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the cumulative sums of the unmasked elements."""
    return undertow.cumsum(_filled(_cast(input, dtype), mask, 0), dim, dtype=dtype or input.dtype)


@overridable
def cumprod(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the cumulative products of the unmasked elements."""
    return undertow.cumprod(_filled(_cast(input, dtype), mask, 1), dim, dtype=dtype or input.dtype)


@overridable
def amax(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the largest unmasked element."""
    x = _cast(input, dtype)
    if x.layout is not undertow.strided:
        return _of_sparse("amax", x, dim, keepdim, mask, _limit(x.dtype, largest=False))
    x = _filled(x, mask, _limit(x.dtype, largest=False))
    return undertow.amax(x, _canonical_dim(dim, x.dim()), keepdim)


@overridable
def amin(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the smallest unmasked element."""
    x = _cast(input, dtype)
    if x.layout is not undertow.strided:
        return _of_sparse("amin", x, dim, keepdim, mask, _limit(x.dtype, largest=True))
    x = _filled(x, mask, _limit(x.dtype, largest=True))
    return undertow.amin(x, _canonical_dim(dim, x.dim()), keepdim)


@overridable
def argmax(input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the index of the largest unmasked element; in the dtype of the elements, as in torch."""
    x = _cast(input, dtype)
    return undertow.argmax(_filled(x, mask, _limit(x.dtype, largest=False)), dim, bool(keepdim)).to(x.dtype)


@overridable
def argmin(input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the index of the smallest unmasked element; in the dtype of the elements, as in torch."""
    x = _cast(input, dtype)
    return undertow.argmin(_filled(x, mask, _limit(x.dtype, largest=True)), dim, bool(keepdim)).to(x.dtype)


def _count(input: Tensor, dim: Dims, keepdim: bool, mask: Tensor | None) -> Tensor:
    return sum(undertow.ones(input.shape, dtype=undertow.int64), dim, keepdim=keepdim, mask=mask)


@overridable
def mean(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the mean of the unmasked elements.

    >>> import undertow as ut
    >>> ut.masked.mean(ut.tensor([1.0, 2.0, 6.0]), mask=ut.tensor([True, True, False]))
    tensor(1.5000)
    """
    wanted = dtype or input.dtype
    if not (wanted.is_floating_point or wanted.is_complex):
        source = "Input" if dtype is None else "Optional"
        raise ValueError(f"mean(): Could not infer output dtype. {source} dtype must be either a floating point or complex dtype. Got: {wanted}")
    x = _cast(input, dtype)
    if x.layout is not undertow.strided:
        return _of_sparse("mean", x, dim, keepdim, mask, math.nan)
    if mask is None:
        total = sum(x, dim, keepdim=keepdim)
        return total / (x.numel() // max(1, total.numel()))  # as torch: the gradient is expanded
    return sum(x, dim, keepdim=keepdim, mask=mask) / _count(x, dim, keepdim, mask)


@overridable
def median(input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the median of the unmasked elements, the lower of two."""
    dims = _canonical_dim(dim, input.dim())
    x = input if input.is_floating_point() else input.to(undertow.float32)
    middle = undertow.nanmedian(_filled(x, mask, math.nan), dims[0] if dims else 0, keepdim).values
    if not input.is_floating_point():
        if undertow.isnan(middle).any():
            raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
        return middle.to(dtype or input.dtype)
    return _cast(middle, dtype)


@overridable
def logsumexp(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the logarithm of the sum of exponentials of the unmasked elements."""
    x = _cast(input, input.dtype if dtype is None else dtype)
    x = _filled(x, mask, _limit(x.dtype, largest=False))
    return undertow.logsumexp(x, _canonical_dim(dim, x.dim()), keepdim)


@overridable
def logaddexp(
    input: Tensor, other: Tensor, *, dtype: DType | None = None, input_mask: Tensor | None = None, other_mask: Tensor | None = None
) -> Tensor:
    """Return log(exp(input) + exp(other)); where one of them is masked, return the other."""
    left, right = _cast(input, dtype), _cast(other, dtype)
    return undertow.logaddexp(_filled(left, input_mask, -math.inf), _filled(right, other_mask, -math.inf))


@overridable
def norm(
    input: Tensor, ord: float | None = 2.0, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """Return the vector norm of the unmasked elements."""
    p = 2.0 if ord is None else ord
    x = _filled(_cast(input, dtype), mask, math.inf if p == -math.inf else 0)
    return undertow.linalg.vector_norm(x, p, _canonical_dim(dim, x.dim()), keepdim)


def _spread(input: Tensor, dim: Dims, correction: float, keepdim: bool, dtype: DType | None, mask: Tensor | None) -> Tensor:
    _check_strided("std/var", input)
    whole = not (input.is_floating_point() or input.is_complex())
    wanted = dtype or (undertow.get_default_dtype() if whole else input.dtype)
    x = input.to(undertow.float32 if wanted in (undertow.float16, undertow.bfloat16) else wanted)
    count = _count(x, dim, True, mask)
    away = x - sum(x, dim, keepdim=True, mask=mask) / count
    squares = (away * away.conj()).real if x.is_complex() else away * away
    if not keepdim:
        count = _count(x, dim, False, mask)
    total = sum(squares, dim, keepdim=keepdim, mask=mask) / undertow.maximum(count - correction, undertow.zeros((), dtype=count.dtype))
    return total.to(wanted)  # complex for complex elements, as in torch, though the imaginary part is zero


def _correction(name: str, unbiased: bool | None, correction: float | None) -> float:
    if unbiased is not None and correction is not None:
        raise RuntimeError(f"Only one argument to {name} of `unbiased` and `correction` can be given")
    return int(unbiased) if unbiased is not None else 1 if correction is None else correction


@overridable
def var(
    input: Tensor, dim: Dims = None, unbiased: bool | None = None, *, correction: float | None = None,
    keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the variance of the unmasked elements."""
    return _spread(input, dim, _correction("var", unbiased, correction), keepdim, dtype, mask)


@overridable
def std(
    input: Tensor, dim: Dims = None, unbiased: bool | None = None, *, correction: float | None = None,
    keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return the standard deviation of the unmasked elements."""
    return undertow.sqrt(_spread(input, dim, _correction("std", unbiased, correction), keepdim, dtype, mask))


@overridable
def softmax(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the softmax of the unmasked elements; masked elements are zero."""
    x = _cast(input, dtype)
    return undertow.softmax(_filled(x, mask, _limit(x.dtype, largest=False)), dim)


@overridable
def log_softmax(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the logarithm of `softmax`."""
    x = _cast(input, dtype)
    return undertow.log_softmax(_filled(x, mask, _limit(x.dtype, largest=False)), dim)


@overridable
def softmin(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Return the `softmax` of -input."""
    x = _cast(input, dtype)
    return undertow.softmax(-_filled(x, mask, _limit(x.dtype, largest=True)), dim)


@overridable
def normalize(input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Divide by the norm of the unmasked elements, or by `eps` if that is larger."""
    x = _cast(input, dtype)
    length = norm(x, ord, dim, keepdim=True, mask=mask)
    return _filled(x, mask, 0) / undertow.maximum(length, undertow.tensor(eps, dtype=length.dtype))
