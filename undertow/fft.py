"""Discrete Fourier transforms with the interface of torch.fft. Promotion, lengths and norms are handled here, the transforms in the core."""

from __future__ import annotations

import undertow as ut
from undertow._C import Tensor, _ops
from undertow._functions.out_argument import write_out as _to_out
from undertow._lazy import explain_missing as _explain_missing
from undertow._override import overridable_with_numpy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from undertow import device as _device
    from undertow import dtype as _dtype
    from undertow import layout as _layout

    _Sizes = int | Sequence[int] | None

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

_c2c, _r2c, _c2r, _pad = _ops["_fft_c2c"], _ops["_fft_r2c"], _ops["_fft_c2r"], _ops["constant_pad_nd"]
_NONE, _BY_ROOT, _BY_LENGTH = range(3)
_LONG = {"bool": "Bool", "complex64": "ComplexFloat", "complex128": "ComplexDouble"}
_LONG |= {"float16": "Half", "bfloat16": "BFloat16", "complex32": "ComplexHalf"}


def _norm(mode: str | None, forward: bool) -> int:
    """Return the normalization mode: divide by the length in one direction, or by its square root in both."""
    if mode == "ortho":
        return _BY_ROOT
    if mode not in (None, "backward", "forward"):
        raise RuntimeError(f'Invalid normalization mode: "{mode}"; expected "forward", "backward" or "ortho"')
    return _BY_LENGTH if (mode == "forward") == forward else _NONE


def _real(input: Tensor) -> Tensor:
    """Convert integers to floating point; half-precision dtypes raise."""
    if (input.is_floating_point() and input.dtype not in (ut.float32, ut.float64)) or input.dtype is ut.complex32:
        name = str(input.dtype).rpartition(".")[2]
        raise RuntimeError(f"Unsupported dtype {_LONG.get(name, name.capitalize())}: transforms need float32 or float64")
    return input if input.is_floating_point() or input.is_complex() else input.to(ut.get_default_dtype())


def _complex(input: Tensor) -> Tensor:
    input = _real(input)
    if input.is_complex():
        return input
    return input.to(ut.complex128 if input.dtype == ut.float64 else ut.complex64)


def _check_real(input: Tensor, name: str, what: str = "real input tensor") -> Tensor:
    if input.is_complex():
        raise RuntimeError(f"{name} expects a {what}, but got {_LONG[str(input.dtype).rpartition('.')[2]]}")
    return _real(input)


def _axis(input: Tensor, dim: int) -> int:
    if not input.dim():
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if not -input.dim() <= dim < input.dim():
        raise IndexError(f"Dimension out of range (expected to be in range of [{-input.dim()}, {input.dim() - 1}], but got {dim})")
    return dim % input.dim()


def _count(n: int) -> int:
    if not isinstance(n, int):
        raise TypeError(f"fft: the number of points must be int, not {type(n).__name__}")
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    return n


def _resized(input: Tensor, sizes: dict[int, int]) -> Tensor:
    """Truncate or zero-pad at the end of the given dimensions."""
    pad = [0] * (2 * input.dim())
    for d, n in sizes.items():
        if n < input.shape[d]:
            input = input.narrow(d, 0, n)
        pad[2 * (input.dim() - 1 - d) + 1] = max(n - input.shape[d], 0)
    return _pad(input, pad) if any(pad) else input


def _given(result: Tensor, out: Tensor | None) -> Tensor:
    """Return the result, written to `out` if it is given."""
    return result if out is None else _to_out("fft", result, out)


def _one(input: Tensor, n: int | None, dim: int) -> tuple[Tensor, int]:
    d = _axis(input, dim)
    return _resized(input, {d: _count(input.shape[d] if n is None else n)}), d


# ---- along one dimension ----


@overridable_with_numpy_names
def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Compute the discrete Fourier transform of `input` along `dim`, truncated or zero-padded to n elements.

    >>> import undertow as ut
    >>> fft(ut.tensor([1.0, 0.0, 2.0, -1.0]))
    tensor([ 2.+0.j, -1.-1.j,  4.+0.j, -1.+1.j])
    """
    x, d = _one(_real(input), n, dim)
    kind = _norm(norm, forward=True)
    return _given(_c2c(x, [d], kind, True) if x.is_complex() else _r2c(x, [d], kind, False), out)


@overridable_with_numpy_names
def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Compute the inverse of `fft`."""
    x, d = _one(_real(input), n, dim)
    kind = _norm(norm, forward=False)
    return _given(_c2c(x, [d], kind, False) if x.is_complex() else _r2c(x, [d], kind, False).conj(), out)


@overridable_with_numpy_names
def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Compute the first half of the transform of a real input; the other half is its conjugate."""
    x, d = _one(_check_real(input, "rfft"), n, dim)
    return _given(_r2c(x, [d], _norm(norm, forward=True), True), out)


def _to_real(input: Tensor, n: int | None, dim: int, kind: int, conjugate: bool) -> Tensor:
    x = _complex(input)
    d = _axis(x, dim)
    n = _count(2 * (x.shape[d] - 1) if n is None else n)
    x = _resized(x, {d: n // 2 + 1})
    return _c2r(x.conj() if conjugate else x, [d], kind, n)


@overridable_with_numpy_names
def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Compute the inverse of `rfft`: n real numbers."""
    return _given(_to_real(input, n, dim, _norm(norm, forward=False), False), out)


@overridable_with_numpy_names
def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Compute the transform of a Hermitian signal, of which `input` is one half; the result is real."""
    return _given(_to_real(input, n, dim, _norm(norm, forward=True), True), out)


@overridable_with_numpy_names
def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Compute the inverse of `hfft`."""
    x, d = _one(_check_real(input, "ihfft"), n, dim)
    return _given(_r2c(x, [d], _norm(norm, forward=False), True).conj(), out)


# ---- along several ----


def _axes(input: Tensor, s: Any, dim: Any) -> tuple[list[int], list[int]]:
    """Return the dimensions (by default all, or the last len(s)) and their lengths; -1 in `s` means the input's length."""
    s = [s] if isinstance(s, int) else s
    dim = [dim] if isinstance(dim, int) else dim
    if dim is not None:
        dims = [_axis(input, d) for d in dim]
        if len(set(dims)) != len(dims):
            raise RuntimeError("FFT dims must be unique")
    if s is None:
        dims = dims if dim is not None else list(range(input.dim()))
        lengths = [input.shape[d] for d in dims]
    else:
        if dim is not None and len(s) != len(dim):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
        if len(s) > input.dim():
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {input.dim()} dimensions.")
        dims = dims if dim is not None else list(range(input.dim() - len(s), input.dim()))
        lengths = [input.shape[d] if n == -1 else n for d, n in zip(dims, s, strict=True)]
    return dims, [_count(n) for n in lengths]


def _all_complex(input: Tensor, s: Any, dim: Any, norm: str | None, forward: bool) -> Tensor:
    x = _complex(input)
    dims, lengths = _axes(x, s, dim)
    x = _resized(x, dict(zip(dims, lengths, strict=True)))
    return _c2c(x, dims, _norm(norm, forward), forward)


@overridable_with_numpy_names
def fftn(input: Tensor, s: _Sizes = None, dim: _Sizes = None, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Compute `fft` along several dimensions, with lengths `s`."""
    return _given(_all_complex(input, s, dim, norm, True), out)


@overridable_with_numpy_names
def ifftn(input: Tensor, s: _Sizes = None, dim: _Sizes = None, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Compute the inverse of `fftn`."""
    return _given(_all_complex(input, s, dim, norm, False), out)


@overridable_with_numpy_names
def rfftn(input: Tensor, s: _Sizes = None, dim: _Sizes = None, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Compute `fftn` of a real input; the last dimension has only the first half."""
    x = _check_real(input, "rfftn", "real-valued input tensor")
    dims, lengths = _some_axes(x, s, dim, "rfftn")
    return _given(_r2c(_resized(x, dict(zip(dims, lengths, strict=True))), dims, _norm(norm, forward=True), True), out)


def _some_axes(input: Tensor, s: Any, dim: Any, name: str) -> tuple[list[int], list[int]]:
    if (dim is None and not input.dim()) or (dim is not None and not isinstance(dim, int) and not len(dim)):
        raise RuntimeError(f"{name} must transform at least one axis")
    return _axes(input, s, dim)


def _halved_axes(x: Tensor, s: Any, dim: Any, name: str) -> tuple[list[int], list[int]]:
    """Like `_axes`, for a half-spectrum input: its last length is that of the full signal."""
    dims, lengths = _some_axes(x, s, dim, name)
    s = [s] if isinstance(s, int) else s
    if s is None or s[-1] == -1:
        lengths[-1] = _count(2 * (x.shape[dims[-1]] - 1))
    return dims, lengths


@overridable_with_numpy_names
def irfftn(input: Tensor, s: _Sizes = None, dim: _Sizes = None, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Compute the inverse of `rfftn`; the result is real."""
    x = _complex(input)
    dims, lengths = _halved_axes(x, s, dim, "irfftn")
    x = _resized(x, dict(zip(dims, [*lengths[:-1], lengths[-1] // 2 + 1], strict=True)))
    return _given(_c2r(x, dims, _norm(norm, forward=False), lengths[-1]), out)


@overridable_with_numpy_names
def hfftn(input: Tensor, s: _Sizes = None, dim: _Sizes = None, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Compute `hfft` along the last of several dimensions, `fft` along the others."""
    x = _complex(input)
    dims, lengths = _halved_axes(x, s, dim, "hfftn")
    x = _resized(x, dict(zip(dims, [*lengths[:-1], lengths[-1] // 2 + 1], strict=True)))
    kind = _norm(norm, forward=True)
    if len(dims) > 1:
        x = _c2c(x, dims[:-1], kind, True)
    return _given(_c2r(x.conj(), dims[-1:], kind, lengths[-1]), out)


@overridable_with_numpy_names
def ihfftn(input: Tensor, s: _Sizes = None, dim: _Sizes = None, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Compute the inverse of `hfftn`."""
    if input.is_complex():
        raise RuntimeError(f"Only supports floating-point dtypes, but found: {_LONG[str(input.dtype).rpartition('.')[2]]}")
    x = _real(input)
    dims, lengths = _some_axes(x, s, dim, "ihfftn")
    kind = _norm(norm, forward=False)
    half = _r2c(_resized(x, dict(zip(dims, lengths, strict=True))), dims[-1:], kind, True).conj()
    return _given(_c2c(half, dims[:-1], kind, False) if len(dims) > 1 else half, out)


@overridable_with_numpy_names
def fft2(input: Tensor, s: _Sizes = None, dim: _Sizes = (-2, -1), norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Compute `fftn` along the last two dimensions, or along `dim`."""
    return fftn(input, s, dim, norm, out=out)


@overridable_with_numpy_names
def ifft2(input: Tensor, s: _Sizes = None, dim: _Sizes = (-2, -1), norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Compute `ifftn` along the last two dimensions, or along `dim`."""
    return ifftn(input, s, dim, norm, out=out)


@overridable_with_numpy_names
def rfft2(input: Tensor, s: _Sizes = None, dim: _Sizes = (-2, -1), norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Compute `rfftn` along the last two dimensions, or along `dim`."""
    return rfftn(input, s, dim, norm, out=out)


@overridable_with_numpy_names
def irfft2(input: Tensor, s: _Sizes = None, dim: _Sizes = (-2, -1), norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Compute `irfftn` along the last two dimensions, or along `dim`."""
    return irfftn(input, s, dim, norm, out=out)


@overridable_with_numpy_names
def hfft2(input: Tensor, s: _Sizes = None, dim: _Sizes = (-2, -1), norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Compute `hfftn` along the last two dimensions, or along `dim`."""
    return hfftn(input, s, dim, norm, out=out)


@overridable_with_numpy_names
def ihfft2(input: Tensor, s: _Sizes = None, dim: _Sizes = (-2, -1), norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Compute `ihfftn` along the last two dimensions, or along `dim`."""
    return ihfftn(input, s, dim, norm, out=out)


# ---- frequencies ----


def _spaced(places: Tensor, n: int, d: float) -> Tensor:
    return places * (1.0 / (n * d)) if n else places


def _check_frequencies(name: str, dtype: Any) -> None:
    if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(f"{name} requires a floating point or complex dtype")


@overridable_with_numpy_names
def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the frequencies of an `fft` of n samples with spacing d: zero and positive frequencies, then negative ones.

    >>> fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    _check_frequencies("fftfreq", dtype)
    dtype = dtype or ut.get_default_dtype()
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    whole = ut.arange(n, dtype=dtype, device=device)
    result = _spaced(ut.where(whole < (n + 1) // 2, whole, whole - n), n, d)
    return _given(result, out).requires_grad_(requires_grad)


@overridable_with_numpy_names
def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: _layout | None = None,
    device: _device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the frequencies of an `rfft` of n samples with spacing d."""
    _check_frequencies("rfftfreq", dtype)
    places = ut.arange(n // 2 + 1, dtype=dtype or ut.get_default_dtype(), device=device)
    return _given(_spaced(places, n, d), out).requires_grad_(requires_grad)


def _shift(input: Tensor, dim: int | Sequence[int] | None, rounding: int) -> Tensor:
    dims = list(range(input.dim())) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    return input.roll([(input.shape[d] + rounding) // 2 for d in dims], dims) if dims else input.clone()


@overridable_with_numpy_names
def fftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Shift the zero frequency to the center.

    >>> import undertow as ut
    >>> fftshift(ut.tensor([0, 1, 2, -2, -1]))
    tensor([-2, -1,  0,  1,  2])
    """
    return _shift(input, dim, 0)


@overridable_with_numpy_names
def ifftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Undo `fftshift`."""
    return _shift(input, dim, 1)

if not TYPE_CHECKING:  # a type checker that saw it would accept every name
    __getattr__ = _explain_missing(__name__)
