"""Fractional max pooling, power-average pooling, and max unpooling."""

from __future__ import annotations

import undertow as ut
from undertow._C import Tensor
from undertow._override import overridable
from undertow.nn._functions.pooling import _each, _nn, _step, avg_pool1d, avg_pool2d, avg_pool3d, max_pool1d, max_pool2d, max_pool3d

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Ints = int | Sequence[int]

__all__: list[str] = [
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
]


# ---- fractional max pooling ----


def _fractional(
    input: Tensor, kernel_size: Ints, output_size: Any, output_ratio: Any, samples: Tensor | None, n: int
) -> tuple[Tensor, Tensor]:
    name = f"fractional_max_pool{n}d"
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if output_size is None:
        if isinstance(output_ratio, float):
            output_ratio = (output_ratio,) * n
        output_size = [int(input.size(d - n) * output_ratio[d]) for d in range(n)]
    if samples is None:
        planes = 1 if input.dim() == n + 1 else input.size(0)
        samples = ut.rand(planes, input.size(-n - 1), n, dtype=input.dtype)
    elif samples.dim() != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions; got {samples.dim()}.")
    elif samples.size(0) < (1 if input.dim() == n + 1 else input.size(0)):
        raise RuntimeError(f"Expect _random_samples.size(0) no less then input batch size; got {samples.size(0)}.")
    elif samples.size(1) != input.size(-n - 1):
        raise RuntimeError(f"Expect _random_samples.size(1) equals to input channel size; got {samples.size(1)}.")
    elif samples.size(2) != n:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {n}; got {samples.size(2)}.")
    else:
        samples = samples[: 1 if input.dim() == n + 1 else input.size(0)]
    for argument, value in (("kernel_size", kernel_size), ("output_size", output_size)):
        if not isinstance(value, int) and len(value) != n:
            raise RuntimeError(f"{name}: {argument} must either be a single Int or tuple of {'three ' if n == 3 else ''}Ints")
    return _nn[name](input, _each(kernel_size, n), _each(output_size, n), samples)


@overridable
def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the largest elements of randomly placed windows of an image, and their indices in the flattened plane."""
    return _fractional(input, kernel_size, output_size, output_ratio, _random_samples, 2)


@overridable
def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the largest elements of randomly placed windows of a volume, and their indices in the flattened volume."""
    return _fractional(input, kernel_size, output_size, output_ratio, _random_samples, 3)


@overridable
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """Return the largest elements of randomly placed windows of an image; the size is `output_size` or `output_ratio` of the input's."""
    found = _fractional(input, kernel_size, output_size, output_ratio, _random_samples, 2)
    return found if return_indices else found[0]


@overridable
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Ints,
    output_size: Ints | None = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """Return the largest elements of randomly placed windows of a volume."""
    found = _fractional(input, kernel_size, output_size, output_ratio, _random_samples, 3)
    return found if return_indices else found[0]


# ---- power-average pooling ----


def _norm_of(pooled: Tensor, norm_type: float, size: int) -> Tensor:
    return (pooled.sign() * pooled.abs().relu()).mul(size).pow(1.0 / norm_type)


@overridable
def lp_pool1d(input: Tensor, norm_type: float, kernel_size: int, stride: Ints | None = None, ceil_mode: bool = False) -> Tensor:
    """Return the p-norm of every window of a 1-d signal, without absolute values."""
    if norm_type == float("inf"):
        return max_pool1d(input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    return _norm_of(avg_pool1d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode), norm_type, _each(kernel_size, 1)[0])


@overridable
def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False) -> Tensor:
    """Return the p-norm of every window of an image, without absolute values."""
    if norm_type == float("inf"):
        return max_pool2d(input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    h, w = _each(kernel_size, 2)
    return _norm_of(avg_pool2d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode), norm_type, h * w)


@overridable
def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False) -> Tensor:
    """Return the p-norm of every window of a volume, without absolute values."""
    if norm_type == float("inf"):
        return max_pool3d(input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    d, h, w = _each(kernel_size, 3)
    return _norm_of(avg_pool3d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode), norm_type, d * h * w)


# ---- max unpooling ----


def _unpooled_size(input: Tensor, kernel: Any, stride: Any, padding: Any, output_size: Any) -> list[int]:
    """Return the requested size, which must be within one stride of the default size."""
    n = len(kernel)
    usual = [(input.size(d - n) - 1) * stride[d] + kernel[d] - 2 * padding[d] for d in range(n)]
    if output_size is None:
        return usual
    if len(output_size) == n + 2:
        output_size = output_size[2:]
    if len(output_size) != n:
        raise ValueError(
            f"output_size should be a sequence containing {n} or {n + 2} elements, but it has a length of '{len(output_size)}'"
        )
    for d in range(n):
        least, most = usual[d] - stride[d], usual[d] + stride[d]
        if not least < output_size[d] < most:
            raise ValueError(f'invalid output_size "{output_size}" (dim {d} must be between {least} and {most})')
    return list(output_size)


def _unpool_arguments(kernel_size: Ints, stride: Ints | None, padding: Ints, n: int) -> tuple[Any, Any, Any]:
    kernel = _each(kernel_size, n)
    return kernel, _step(stride, kernel, n), _each(padding, n)


@overridable
def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, output_size: Any = None
) -> Tensor:
    """Invert `max_pool1d`: put `input` at `indices`, with zeros elsewhere.

    >>> import undertow as ut
    >>> max_unpool1d(*max_pool1d(ut.tensor([[1.0, 4.0, 2.0, 3.0]]), 2, return_indices=True), 2)
    tensor([[0., 4., 0., 3.]])
    """
    arguments = _unpool_arguments(kernel_size, stride, padding, 1)
    size = _unpooled_size(input, *arguments, output_size)
    return _nn["max_unpool2d"](input.unsqueeze(-1), indices.unsqueeze(-1), (*size, 1)).squeeze(-1)


@overridable
def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, output_size: Any = None
) -> Tensor:
    """Invert `max_pool2d`: put `input` at `indices`, with zeros elsewhere."""
    arguments = _unpool_arguments(kernel_size, stride, padding, 2)
    return _nn["max_unpool2d"](input, indices, _unpooled_size(input, *arguments, output_size))


@overridable
def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, output_size: Any = None
) -> Tensor:
    """Invert `max_pool3d`: put `input` at `indices`, with zeros elsewhere."""
    arguments = _unpool_arguments(kernel_size, stride, padding, 3)
    return _nn["max_unpool3d"](input, indices, _unpooled_size(input, *arguments, output_size))
