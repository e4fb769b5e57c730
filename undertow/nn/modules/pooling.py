"""Pooling layers; the functions are in nn.functional."""

from __future__ import annotations

from undertow._C import Tensor
from undertow.nn import functional as F
from undertow.nn.modules.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]


def _tuple(value: Any, n: int) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * n


class _MaxPoolNd(Module):
    __constants__: list[str] = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]
    kernel_size: int | tuple[int, ...]
    stride: int | tuple[int, ...]
    padding: int | tuple[int, ...]
    dilation: int | tuple[int, ...]
    return_indices: bool
    ceil_mode: bool

    def __init__(
        self,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] | None = None,
        padding: int | tuple[int, ...] = 0,
        dilation: int | tuple[int, ...] = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        """Return the sizes of the windows."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )

    def _arguments(self) -> tuple[Any, ...]:
        return self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices


class MaxPool1d(_MaxPoolNd):
    """The largest element of every window of a 1-d signal."""

    def forward(self, input: Tensor) -> Any:
        """Return the largest elements; with `return_indices`, also their indices."""
        return F.max_pool1d(input, *self._arguments())


class MaxPool2d(_MaxPoolNd):
    """The largest element of every window of an image.

    >>> import undertow as ut
    >>> MaxPool2d(2)(ut.arange(16.0).reshape(1, 4, 4))
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """

    def forward(self, input: Tensor) -> Any:
        """Return the largest elements; with `return_indices`, also their indices."""
        return F.max_pool2d(input, *self._arguments())


class MaxPool3d(_MaxPoolNd):
    """The largest element of every window of a volume."""

    def forward(self, input: Tensor) -> Any:
        """Return the largest elements; with `return_indices`, also their indices."""
        return F.max_pool3d(input, *self._arguments())


class _MaxUnpoolNd(Module):
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    _rank: int

    def __init__(
        self, kernel_size: int | tuple[int, ...], stride: int | tuple[int, ...] | None = None, padding: int | tuple[int, ...] = 0
    ) -> None:
        super().__init__()
        self.kernel_size = _tuple(kernel_size, self._rank)
        self.stride = _tuple(stride if stride is not None else kernel_size, self._rank)
        self.padding = _tuple(padding, self._rank)

    def extra_repr(self) -> str:
        """Return the sizes of the windows."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Inverts MaxPool1d: puts the elements back at their indices, with zeros elsewhere."""

    _rank = 1

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        """Return the signal."""
        return F.max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpoolNd):
    """Inverts MaxPool2d: puts the elements back at their indices, with zeros elsewhere."""

    _rank = 2

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        """Return the image."""
        return F.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpoolNd):
    """Inverts MaxPool3d: puts the elements back at their indices, with zeros elsewhere."""

    _rank = 3

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        """Return the volume."""
        return F.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class _AvgPoolNd(Module):
    __constants__: list[str] = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"]
    kernel_size: int | tuple[int, ...]
    stride: int | tuple[int, ...]
    padding: int | tuple[int, ...]
    ceil_mode: bool
    count_include_pad: bool

    def extra_repr(self) -> str:
        """Return the sizes of the windows."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """The mean of every window of a 1-d signal."""

    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]

    def __init__(
        self,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] | None = None,
        padding: int | tuple[int, ...] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = _tuple(kernel_size, 1)
        self.stride = _tuple(stride if stride is not None else kernel_size, 1)
        self.padding = _tuple(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        """Return the means."""
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class _AvgPoolDivided(_AvgPoolNd):
    __constants__: list[str] = [*_AvgPoolNd.__constants__, "divisor_override"]
    kernel_size: int | tuple[int, ...]
    stride: int | tuple[int, ...]
    padding: int | tuple[int, ...]
    divisor_override: int | None

    def __init__(
        self,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] | None = None,
        padding: int | tuple[int, ...] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def _arguments(self) -> tuple[Any, ...]:
        return self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override


class AvgPool2d(_AvgPoolDivided):
    """The mean of every window of an image.

    >>> import undertow as ut
    >>> AvgPool2d(2)(ut.arange(4.0).reshape(1, 2, 2))
    tensor([[[1.5000]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the means."""
        return F.avg_pool2d(input, *self._arguments())


class AvgPool3d(_AvgPoolDivided):
    """The mean of every window of a volume."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the means."""
        return F.avg_pool3d(input, *self._arguments())


class _FractionalMaxPoolNd(Module):
    __constants__: list[str] = ["kernel_size", "return_indices", "output_size", "output_ratio"]
    kernel_size: tuple[int, ...]
    return_indices: bool
    output_size: tuple[int, ...] | None
    output_ratio: tuple[float, ...] | None
    _rank: int

    def __init__(
        self,
        kernel_size: int | tuple[int, ...],
        output_size: int | tuple[int, ...] | None = None,
        output_ratio: float | tuple[float, ...] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = _tuple(kernel_size, self._rank)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = _tuple(output_size, self._rank) if output_size is not None else None
        self.output_ratio = _tuple(output_ratio, self._rank) if output_ratio is not None else None
        name = type(self).__name__
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def _arguments(self) -> tuple[Any, ...]:
        return self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """The largest elements of randomly placed windows of an image."""

    _rank = 2

    def forward(self, input: Tensor) -> Any:
        """Return the largest elements; with `return_indices`, also their indices."""
        return F.fractional_max_pool2d(input, *self._arguments())


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """The largest elements of randomly placed windows of a volume."""

    _rank = 3

    def forward(self, input: Tensor) -> Any:
        """Return the largest elements; with `return_indices`, also their indices."""
        return F.fractional_max_pool3d(input, *self._arguments())


class _LPPoolNd(Module):
    __constants__: list[str] = ["norm_type", "kernel_size", "stride", "ceil_mode"]

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        """Return the norm and the sizes of the windows."""
        return f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, ceil_mode={self.ceil_mode}"


class LPPool1d(_LPPoolNd):
    """The p-norm of every window of a 1-d signal."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the norms."""
        return F.lp_pool1d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool2d(_LPPoolNd):
    """The p-norm of every window of an image."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the norms."""
        return F.lp_pool2d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool3d(_LPPoolNd):
    """The p-norm of every window of a volume."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the norms."""
        return F.lp_pool3d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class _AdaptiveMaxPoolNd(Module):
    __constants__: list[str] = ["output_size", "return_indices"]

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def extra_repr(self) -> str:
        """Return the output size."""
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The largest elements of a given number of windows of a 1-d signal."""

    def forward(self, input: Tensor) -> Any:
        """Return the largest elements; with `return_indices`, also their indices."""
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The largest elements of a grid of windows of an image."""

    def forward(self, input: Tensor) -> Any:
        """Return the largest elements; with `return_indices`, also their indices."""
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The largest elements of a grid of windows of a volume."""

    def forward(self, input: Tensor) -> Any:
        """Return the largest elements; with `return_indices`, also their indices."""
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class _AdaptiveAvgPoolNd(Module):
    __constants__: list[str] = ["output_size"]

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        """Return the output size."""
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The means of a given number of windows of a 1-d signal."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the means."""
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The means of a grid of windows of an image."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the means."""
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The means of a grid of windows of a volume."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the means."""
        return F.adaptive_avg_pool3d(input, self.output_size)
