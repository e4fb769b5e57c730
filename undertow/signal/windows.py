"""Window functions, like torch.signal.windows."""

from __future__ import annotations

import math
from collections.abc import Iterable

import undertow as ut
from undertow._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


def _checked(name: str, length: int, dtype: Any, layout: Any) -> Any:
    """Check the arguments of a window function; return the dtype, given or default."""
    dtype = ut.get_default_dtype() if dtype is None else dtype
    if length < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={length}")
    if layout is not None and layout is not ut.strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if dtype not in (ut.float32, ut.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    return dtype


def _finished(window: Tensor, device: Any, requires_grad: bool) -> Tensor:
    return (window if device is None else window.to(device)).requires_grad_(requires_grad)


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Exponential window: exp(-|n - center| / tau)."""
    dtype = _checked("exponential", M, dtype, layout)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    if center is None:
        center = (M if not sym and M > 1 else M - 1) / 2.0
    places = ut.linspace(-center / tau, (-center + (M - 1)) / tau, M, dtype=dtype)
    return _finished(ut.exp(-places.abs()), device, requires_grad)


def cosine(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Cosine window: sin(pi (n + 1/2) / M).

    >>> cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """
    dtype = _checked("cosine", M, dtype, layout)
    step = math.pi / (M + 1 if not sym and M > 1 else max(M, 1))
    return _finished(ut.sin(ut.linspace(0.5 * step, (0.5 + (M - 1)) * step, M, dtype=dtype)), device, requires_grad)


def gaussian(
    M: int, *, std: float = 1.0, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Gaussian window: exp(-(n - center)^2 / (2 std^2))."""
    dtype = _checked("gaussian", M, dtype, layout)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    start = -(M if not sym and M > 1 else M - 1) / 2.0
    scale = 1 / (std * math.sqrt(2))
    places = ut.linspace(start * scale, (start + (M - 1)) * scale, M, dtype=dtype)
    return _finished(ut.exp(-(places**2)), device, requires_grad)


def kaiser(
    M: int, *, beta: float = 12.0, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Kaiser window: I0(beta sqrt(1 - ((n - N/2) / (N/2))^2)) / I0(beta)."""
    dtype = _checked("kaiser", M, dtype, layout)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if M == 1:
        return _finished(ut.ones(1, dtype=dtype), device, requires_grad)
    whole = ut.tensor(beta, dtype=dtype)
    step = 2.0 * beta / max(M if not sym else M - 1, 1)
    places = ut.linspace(-beta, min(beta, -beta + step * (M - 1)), M, dtype=dtype)
    return _finished(ut.i0(ut.sqrt((beta * beta - places**2).clamp_min(0))) / ut.i0(whole), device, requires_grad)


def bartlett(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Bartlett (triangular) window: 1 - |2n / (M - 1) - 1|."""
    dtype = _checked("bartlett", M, dtype, layout)
    if M == 1:
        return _finished(ut.ones(1, dtype=dtype), device, requires_grad)
    step = 2 / max(M if not sym else M - 1, 1)
    return _finished(1 - ut.linspace(-1.0, -1.0 + step * (M - 1), M, dtype=dtype).abs(), device, requires_grad)


def general_cosine(
    M: int,
    *,
    a: Iterable[float],
    sym: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """General cosine window: the sum over i of (-1)^i a_i cos(2 pi i n / (M - 1))."""
    dtype = _checked("general_cosine", M, dtype, layout)
    if M == 0:
        return _finished(ut.empty((0,), dtype=dtype), device, requires_grad)
    if M == 1:
        return _finished(ut.ones((1,), dtype=dtype), device, requires_grad)
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    weights = list(a)
    if not weights:
        raise ValueError("Coefficients cannot be empty")
    step = 2 * math.pi / (M if not sym else M - 1)
    places = ut.linspace(0, (M - 1) * step, M, dtype=dtype)
    signed = ut.tensor([(-1) ** i * w for i, w in enumerate(weights)], dtype=dtype)
    waves = ut.arange(len(weights), dtype=dtype).unsqueeze(-1) * places
    return _finished((signed.unsqueeze(-1) * ut.cos(waves)).sum(0), device, requires_grad)


def general_hamming(
    M: int, *, alpha: float = 0.54, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """General Hamming window: alpha - (1 - alpha) cos(2 pi n / (M - 1))."""
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hamming(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Hamming window: 0.54 - 0.46 cos(2 pi n / (M - 1))."""
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hann(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Hann window: (1 - cos(2 pi n / (M - 1))) / 2.

    >>> hann(3)
    tensor([0., 1., 0.])
    """
    return general_hamming(M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def blackman(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Blackman window: 0.42 - 0.5 cos(2 pi n / (M - 1)) + 0.08 cos(4 pi n / (M - 1))."""
    a = [0.42, 0.5, 0.08]
    return general_cosine(M, a=a, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def nuttall(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Nuttall window: a sum of four cosines with low side lobes."""
    a = [0.3635819, 0.4891775, 0.1365995, 0.0106411]
    return general_cosine(M, a=a, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)
