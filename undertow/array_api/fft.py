"""Fourier transforms of the array API: Undertow's functions with the standard's arguments."""

from __future__ import annotations

import undertow
from undertow._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
_MANY = ("fftn", "ifftn", "rfftn", "irfftn")


def _of_one_axis(name: str) -> Callable[..., Tensor]:
    def transform(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
        return getattr(undertow.fft, name)(x, n, axis, norm)

    return transform


def _of_axes(name: str) -> Callable[..., Tensor]:
    def transform(x: Tensor, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Tensor:
        return getattr(undertow.fft, name)(x, s, axes, norm)

    return transform


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """Return the frequencies of a transform of `n` samples with spacing `d`."""
    return undertow.fft.fftfreq(n, d, dtype=dtype)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """Return the frequencies of a real transform of `n` samples with spacing `d`."""
    return undertow.fft.rfftfreq(n, d, dtype=dtype)


def fftshift(x: Tensor, /, *, axes: Any = None) -> Tensor:
    """Shift the zero frequency to the center."""
    return undertow.fft.fftshift(x, axes)


def ifftshift(x: Tensor, /, *, axes: Any = None) -> Tensor:
    """Undo `fftshift`."""
    return undertow.fft.ifftshift(x, axes)


for _names, _make in ((_ONE, _of_one_axis), (_MANY, _of_axes)):
    for _name in _names:
        globals()[_name] = _transform = _make(_name)
        _transform.__name__ = _transform.__qualname__ = _name
        _transform.__doc__ = f"`undertow.fft.{_name}`."
__all__ = [*_ONE, *_MANY, "fftfreq", "fftshift", "ifftshift", "rfftfreq"]
