"""Pooling. One-dimensional pooling is two-dimensional pooling over images of one row."""

from __future__ import annotations

import undertow as ut
from undertow._C import Tensor, _ops
from undertow._functions.out_argument import write_out
from undertow._override import overridable
from undertow.autograd import forward_ad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Ints = int | Sequence[int]

__all__: list[str] = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
]

_nn = {name[4:]: fn for name, fn in _ops.items() if name.startswith("_nn.")}
_max2, _max3 = _nn["max_pool2d_with_indices"], _nn["max_pool3d_with_indices"]
_avg2, _avg3 = _nn["avg_pool2d"], _nn["avg_pool3d"]


def _each(value: Ints, n: int) -> Any:
    """Repeat an int for every dimension; return a list unchanged, so that the core can check its length."""
    if isinstance(value, int):
        return (value,) * n
    return tuple(value) * n if len(value) == 1 else tuple(value)


def _is_kernel(stride: Ints | None) -> bool:
    """No stride, or an empty list of them: windows stand side by side."""
    return stride is None or (not isinstance(stride, int) and not len(stride))


def _step(stride: Any, kernel: Any, n: int) -> Any:
    return kernel if _is_kernel(stride) else _each(stride, n)


def _single(value: Ints, name: str, argument: str) -> int:
    if isinstance(value, int):
        return value
    if len(value) != 1:
        raise RuntimeError(f"{name}() {argument} must be an int, list of ints or tuple of ints of size 1 but got size {len(value)}")
    return value[0]


def _check_line(input: Tensor, name: str) -> None:
    if input.dim() not in (2, 3) or 0 in input.shape[-2:]:
        raise RuntimeError(f"{name}: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:{list(input.shape)}")


def _check_dims(input: Tensor, name: str) -> None:
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {input.dim()}-dimensional tensor for argument #1 'self' (while checking arguments for {name})"
        )


# ---- max pooling ----


@overridable
def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """Return the largest element of every window of a 1-d signal, and its index."""
    return _max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, places=True)


def _max_pool1d(
    input: Tensor, kernel_size: Ints, stride: Any, padding: Ints, dilation: Ints, ceil_mode: bool, places: bool
) -> tuple[Tensor, Tensor]:
    """Max pooling in 1-d; with `places`, errors have the wording of 2-d pooling, which torch uses to compute indices."""
    _check_line(input, "max_pool1d")
    kernel = _single(kernel_size, "max_pool1d", "kernel_size")
    step = kernel if _is_kernel(stride) else _single(stride, "max_pool1d", "stride")
    pad, gap = _single(padding, "max_pool1d", "padding"), _single(dilation, "max_pool1d", "dilation")
    for argument, value in (("kernel_size", kernel), ("stride", step), ("dilation", gap)):
        if value <= 0:
            raise RuntimeError(f"max_pool1d() {argument} must be greater than zero, but got {value}")
    if pad < 0:
        raise RuntimeError(
            f"pad must be non-negative, but got pad: {pad}" if places else f"max_pool1d() padding must be non-negative, but got {pad}"
        )
    if pad > ((kernel - 1) * gap + 1) // 2 and places:
        raise RuntimeError(f"pad should be at most half of effective kernel size, but got pad={pad}, kernel_size={kernel} and dilation={gap}")
    if pad > kernel // 2:
        raise RuntimeError(f"max_pool1d() padding should be at most half of kernel size, but got padding={pad} and kernel_size={kernel}")
    if not input.is_floating_point():
        raise NotImplementedError(f"\"max_pool1d\" not implemented for '{input.dtype}'")
    room = input.shape[-1] + 2 * pad - gap * (kernel - 1) - 1
    count = (room + (step - 1 if ceil_mode else 0)) // step + 1
    if count <= 0 and not places:
        raise RuntimeError(f"max_pool1d() Invalid computed output size: {count}")
    windows = (1, kernel), (1, step), (0, pad), (1, gap), ceil_mode
    if not places and not (input.requires_grad and ut.is_grad_enabled()) and forward_ad._current_level < 0:
        best = _nn["_max_pool2d"](input.unsqueeze(-2), *windows)  # as in torch, which has a kernel without indices for this case
        return best.squeeze(-2), best
    best, index = _max2(input.unsqueeze(-2), *windows)
    return best.squeeze(-2), index.squeeze(-2)


@overridable
def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """Return the largest element of every window of an image, and its index in the flattened plane."""
    return _max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode)


def _max_pool2d(input: Tensor, kernel_size: Ints, stride: Ints | None, padding: Ints, dilation: Ints, ceil_mode: bool) -> tuple[Tensor, Tensor]:
    kernel = _each(kernel_size, 2)
    return _max2(input, kernel, _step(stride, kernel, 2), _each(padding, 2), _each(dilation, 2), ceil_mode)


@overridable
def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """Return the largest element of every window of a volume, and its index in the flattened volume."""
    kernel = _each(kernel_size, 3)
    return _max3(input, kernel, _step(stride, kernel, 3), _each(padding, 3), _each(dilation, 3), ceil_mode)


@overridable
def max_pool1d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Return the largest element of every window of a 1-d signal; with `return_indices`, also its index.

    >>> import undertow as ut
    >>> max_pool1d(ut.tensor([[1.0, 4.0, 2.0, 3.0]]), 2)
    tensor([[4., 3.]])
    """
    found = _max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, places=return_indices)
    return found if return_indices else found[0]


@overridable
def max_pool2d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Return the largest element of every window of an image; with `return_indices`, also its index in the flattened plane."""
    found = _max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode)
    return found if return_indices else found[0]


@overridable
def max_pool3d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Return the largest element of every window of a volume; with `return_indices`, also its index in the flattened volume."""
    found = max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return found if return_indices else found[0]


# ---- average pooling ----


@overridable
def avg_pool1d(
    input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, ceil_mode: bool = False, count_include_pad: bool = True
) -> Tensor:
    """Return the mean of every window of a 1-d signal.

    >>> import undertow as ut
    >>> avg_pool1d(ut.tensor([[1.0, 3.0, 2.0, 4.0]]), 2)
    tensor([[2., 3.]])
    """
    _check_dims(input, "avg_pool1d")
    kernel = _one_of("avg_pool1d", "kernel_size", kernel_size)
    step = kernel if _is_kernel(stride) else _one_of("avg_pool1d", "stride", stride)  # type: ignore[arg-type]
    pad = _one_of("avg_pool1d", "padding", padding)
    return _avg2(input.unsqueeze(-2), (1, kernel), (1, step), (0, pad), ceil_mode, count_include_pad, None).squeeze(-2)


def _one_of(name: str, argument: str, value: Ints) -> int:
    if isinstance(value, int):
        return value
    if len(value) != 1:
        raise RuntimeError(f"{name}() argument '{argument}' should contain one int (got {len(value)})")
    if not isinstance(value[0], int):
        raise TypeError(f"{name}(): argument '{argument}' must be tuple of ints, but found element of type {type(value[0]).__name__} at pos 0")
    return value[0]


@overridable
def avg_pool2d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the mean of every window of an image."""
    kernel = _each(kernel_size, 2)
    means = _avg2(input, kernel, _step(stride, kernel, 2), _each(padding, 2), ceil_mode, count_include_pad, divisor_override)
    return means if out is None else write_out("avg_pool2d", means, out, strict=True)


@overridable
def avg_pool3d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the mean of every window of a volume."""
    kernel = _each(kernel_size, 3)
    means = _avg3(input, kernel, _step(stride, kernel, 3), _each(padding, 3), ceil_mode, count_include_pad, divisor_override)
    return means if out is None else write_out("avg_pool3d", means, out, strict=True)


# ---- adaptive pooling ----


def _whole(input: Tensor, output_size: Any, n: int, kind: str) -> tuple[int, ...]:
    """Return the output's size; None means the input's size."""
    if isinstance(output_size, int):
        return (output_size,) * n
    if output_size is None:
        return tuple(input.shape[-n:])
    if len(output_size) < n:
        what = f"adaptive_{kind}_pool{n}d"
        raise RuntimeError(f"{what}: output_size must be {n}" if kind == "avg" else f"{what}(): output_size.size() must be {n}")
    if kind == "max" and len(output_size) == n and any(size is not None and size < 0 for size in output_size):
        result = [*input.shape[: input.dim() - n], *output_size]
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(size for size in output_size if size is not None)}: {result}")
    if len(output_size) > input.dim() - 1 or len(output_size) != n:
        raise ValueError(f"Input dimension should be at least {len(output_size) + 1}: output_size has {len(output_size)} numbers for {n} dimensions")
    if input.dim() < n:
        raise RuntimeError(f"adaptive pooling: Expected {n + 1}D or {n + 2}D tensor, but got {list(input.shape)}")
    return tuple(size if given is None else given for given, size in zip(output_size, input.shape[-n:], strict=True))


@overridable
def adaptive_avg_pool1d(input: Tensor, output_size: Ints) -> Tensor:
    """Return the means of `output_size` windows of a 1-d signal.

    >>> import undertow as ut
    >>> adaptive_avg_pool1d(ut.tensor([[1.0, 3.0, 2.0, 4.0]]), 2)
    tensor([[2., 3.]])
    """
    _check_dims(input, "adaptive_avg_pool1d")
    return adaptive_avg_pool2d(input.unsqueeze(-2), (1, _one_of("adaptive_avg_pool1d", "output_size", output_size))).squeeze(-2)


def _channels_last_like(input: Tensor, means: Tensor) -> Tensor:
    """Return the means of whole images with the strides of channels-last, if the images are; they have the same elements in both formats."""
    last = ut.channels_last if input.dim() == 4 else ut.channels_last_3d
    if input.is_contiguous() or not input.is_contiguous(memory_format=last):
        return means
    channels = input.size(1)
    return means.as_strided(means.shape, (channels, 1, *[channels] * (input.dim() - 2)))


@overridable
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Return the means of a grid of windows of an image; None keeps the size of a dimension."""
    size = _whole(input, output_size, 2, "avg")
    if size == (1, 1) and input.dim() in (3, 4) and input.is_floating_point() and input.numel():
        means = input.mean((-1, -2), keepdim=True)
        return _channels_last_like(input, means) if input.dim() == 4 else means
    return _nn["_adaptive_avg_pool2d"](input, size)


@overridable
def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Return the means of a grid of windows of a volume; None keeps the size of a dimension."""
    size = _whole(input, output_size, 3, "avg")
    if size == (1, 1, 1) and input.dim() in (4, 5) and input.is_floating_point() and input.numel():
        means = input.mean((-1, -2, -3), keepdim=True)
        return _channels_last_like(input, means) if input.dim() == 5 else means
    if input.dim() == 5 and not input.shape[1]:
        raise RuntimeError(
            "adaptive_avg_pool3d(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
            f"{list(input.shape)} with dimension 1 being empty"
        )
    return _nn["_adaptive_avg_pool3d"](input, size)


@overridable
def adaptive_max_pool1d_with_indices(input: Tensor, output_size: Ints, return_indices: bool = False) -> tuple[Tensor, Tensor]:
    """Return the largest elements of `output_size` windows of a 1-d signal, and their indices."""
    _check_dims(input, "adaptive_max_pool1d")
    count = _one_of("adaptive_max_pool1d", "output_size", output_size)
    best, index = adaptive_max_pool2d_with_indices(input.unsqueeze(-2), (1, count))
    return best.squeeze(-2), index.squeeze(-2)


@overridable
def adaptive_max_pool2d_with_indices(input: Tensor, output_size: Any, return_indices: bool = False) -> tuple[Tensor, Tensor]:
    """Return the largest elements of a grid of windows of an image, and their indices in the flattened plane."""
    return _nn["adaptive_max_pool2d"](input, _whole(input, output_size, 2, "max"))


@overridable
def adaptive_max_pool3d_with_indices(input: Tensor, output_size: Any, return_indices: bool = False) -> tuple[Tensor, Tensor]:
    """Return the largest elements of a grid of windows of a volume, and their indices in the flattened volume."""
    return _nn["adaptive_max_pool3d"](input, _whole(input, output_size, 3, "max"))


@overridable
def adaptive_max_pool1d(input: Tensor, output_size: Ints, return_indices: bool = False) -> Any:
    """Return the largest elements of `output_size` windows of a 1-d signal; with `return_indices`, also their indices."""
    found = adaptive_max_pool1d_with_indices(input, output_size)
    return found if return_indices else found[0]


@overridable
def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Return the largest elements of a grid of windows of an image; with `return_indices`, also their indices."""
    found = adaptive_max_pool2d_with_indices(input, output_size)
    return found if return_indices else found[0]


@overridable
def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Return the largest elements of a grid of windows of a volume; with `return_indices`, also their indices."""
    found = adaptive_max_pool3d_with_indices(input, output_size)
    return found if return_indices else found[0]
