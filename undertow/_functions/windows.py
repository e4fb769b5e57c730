"""Window functions of the main namespace (`hann_window` and others), periodic by default."""

from __future__ import annotations

import undertow as ut
from undertow._C import Tensor
from undertow._override import overridable
from undertow.signal import windows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"]


def _made(name: str, length: int, dtype: Any, rest: dict[str, Any], make: Callable[..., Tensor]) -> Tensor:
    dtype = ut.get_default_dtype() if dtype is None else dtype
    if not dtype.is_floating_point:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype}")
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
    if rest.get("layout") not in (None, ut.strided):
        raise RuntimeError(f"{name} is not implemented for sparse types, got: {rest['layout']}")
    wide = dtype if dtype == ut.float64 else ut.float32
    made = make(length, dtype=wide).to(dtype)
    if rest.get("device") is not None:
        made = made.to(rest["device"])
    return made.requires_grad_(bool(rest.get("requires_grad", False)))


@overridable
def hann_window(window_length: int, periodic: bool = True, *, dtype: Any = None, **rest: Any) -> Tensor:
    """Hann window: (1 - cos(2 pi n / N)) / 2.

    >>> hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _made("hann_window", window_length, dtype, rest, lambda n, dtype: windows.hann(n, sym=not periodic, dtype=dtype))


@overridable
def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *, dtype: Any = None, **rest: Any
) -> Tensor:
    """Hamming window: alpha - beta cos(2 pi n / N)."""

    def make(n: int, dtype: Any) -> Tensor:
        return windows.general_cosine(n, a=[alpha, beta], sym=not periodic, dtype=dtype)

    return _made("hamming_window", window_length, dtype, rest, make)


@overridable
def blackman_window(window_length: int, periodic: bool = True, *, dtype: Any = None, **rest: Any) -> Tensor:
    """Blackman window: 0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N)."""
    return _made("blackman_window", window_length, dtype, rest, lambda n, dtype: windows.blackman(n, sym=not periodic, dtype=dtype))


@overridable
def bartlett_window(window_length: int, periodic: bool = True, *, dtype: Any = None, **rest: Any) -> Tensor:
    """Bartlett window: a triangle."""
    return _made("bartlett_window", window_length, dtype, rest, lambda n, dtype: windows.bartlett(n, sym=not periodic, dtype=dtype))


@overridable
def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None, **rest: Any) -> Tensor:
    """Kaiser window: I0(beta sqrt(1 - x^2)) / I0(beta), x from -1 to 1."""

    def make(n: int, dtype: Any) -> Tensor:
        return windows.kaiser(n, beta=beta, sym=not periodic, dtype=dtype)

    return _made("kaiser_window", window_length, dtype, rest, make)
