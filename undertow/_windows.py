"""Windows for signals: the weights that taper a stretch of samples towards its ends."""

from __future__ import annotations

import math

import undertow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from undertow import Tensor

__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"]


def _window(name: str, length: int, periodic: bool, options: dict[str, Any], weights: Callable[[Tensor, int], Tensor]) -> Tensor:
    """`weights` of the positions 0 to length - 1 on a window of so many steps; a periodic one is a step longer."""
    dtype = options.pop("dtype", None) or undertow.get_default_dtype()
    if not dtype.is_floating_point:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype}")
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
    if length <= 1:
        return undertow.ones(length, dtype=dtype, **options)
    steps = length if periodic else length - 1
    result = weights(undertow.arange(length, dtype=undertow.float64), steps).to(dtype)
    return result.requires_grad_() if options.get("requires_grad") else result


def hann_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """Half a cosine: (1 - cos(2 pi n / N)) / 2.

    >>> import undertow as ut
    >>> ut.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window("hann_window", window_length, periodic, options, lambda n, steps: 0.5 - 0.5 * (2 * math.pi * n / steps).cos())


def hamming_window(window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, **options: Any) -> Tensor:
    """alpha - beta cos(2 pi n / N)."""
    return _window("hamming_window", window_length, periodic, options, lambda n, steps: alpha - beta * (2 * math.pi * n / steps).cos())


def blackman_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N)."""

    def weights(n: Tensor, steps: int) -> Tensor:
        angle = 2 * math.pi * n / steps
        return 0.42 - 0.5 * angle.cos() + 0.08 * (2 * angle).cos()

    return _window("blackman_window", window_length, periodic, options, weights)


def bartlett_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """A triangle: 1 - |2 n / N - 1|."""
    return _window("bartlett_window", window_length, periodic, options, lambda n, steps: 1 - (2 * n / steps - 1).abs())


def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, **options: Any) -> Tensor:
    """I0(beta sqrt(1 - (2 n / N - 1)^2)) / I0(beta)."""

    def weights(n: Tensor, steps: int) -> Tensor:
        inside = (1 - (2 * n / steps - 1).square()).clamp(min=0).sqrt()
        return undertow.i0(beta * inside) / undertow.i0(undertow.tensor(beta, dtype=undertow.float64))

    return _window("kaiser_window", window_length, periodic, options, weights)
