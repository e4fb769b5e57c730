"""Convolutions and transposed convolutions in one to three dimensions."""

from __future__ import annotations

import math

import undertow
from undertow._C import Parameter, Tensor
from undertow._lazy import names_from
from undertow.nn import functional as F
from undertow.nn import init
from undertow.nn.modules.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Size = int | tuple[int, ...]

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


def _repeated(value: Any, times: int) -> tuple[Any, ...]:
    """Repeat one value for every dimension, or return the given values."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * times


class _ConvNd(Module):
    """Base class of all convolutions; subclasses set the number of dimensions."""

    groups: int
    transposed: bool
    _dims: int
    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: str | tuple[int, ...]
    dilation: tuple[int, ...]
    output_padding: tuple[int, ...]
    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        transposed: bool,
        output_padding: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        n = self._dims
        stride, kernel_size, dilation = _repeated(stride, n), _repeated(kernel_size, n), _repeated(dilation, n)
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of 'valid', 'same'")
            if padding == "same" and any(s != 1 for s in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        else:
            padding = _repeated(padding, n)
        if padding_mode not in _PADDING_MODES:
            raise ValueError(f"padding_mode must be one of {_PADDING_MODES}, but got padding_mode='{padding_mode}'")
        self.in_channels, self.out_channels, self.groups, self.transposed = in_channels, out_channels, groups, transposed
        self.kernel_size, self.stride, self.padding, self.dilation = kernel_size, stride, padding, dilation
        self.output_padding, self.padding_mode = _repeated(output_padding, n), padding_mode
        self._reversed_padding_repeated_twice = self._padding_as_pad_takes_it()
        shape = self._weight_shape()
        self._make_parameters(shape, bias, device, dtype)
        self.reset_parameters()

    def _make_parameters(self, shape: tuple[int, ...], bias: bool, device: Any, dtype: Any) -> None:
        self.weight = Parameter(undertow.empty(shape, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(undertow.empty(self.out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)

    def _weight_shape(self) -> tuple[int, ...]:
        if self.transposed:
            return (self.in_channels, self.out_channels // self.groups, *self.kernel_size)
        return (self.out_channels, self.in_channels // self.groups, *self.kernel_size)

    def _padding_as_pad_takes_it(self) -> Sequence[int]:
        """The padding in the format of `pad`: before and after each dimension, last dimension first."""
        if not isinstance(self.padding, str):
            return tuple(p for p in reversed(self.padding) for _ in range(2))
        if self.padding == "valid":
            return [0] * (2 * self._dims)
        totals = [d * (k - 1) for d, k in zip(reversed(self.dilation), reversed(self.kernel_size), strict=False)]
        return [part for total in totals for part in (total // 2, total - total // 2)]

    def reset_parameters(self) -> None:
        """Initialize weight and bias uniformly in +-1/sqrt(fan_in)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        """Return the channels, and options that are not the default."""
        zeros, ones = (0,) * self._dims, (1,) * self._dims
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        if self.padding != zeros:
            parts.append(f"padding={self.padding}")
        if self.dilation != ones:
            parts.append(f"dilation={self.dilation}")
        if self.output_padding != zeros:
            parts.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("padding_mode", "zeros")


class _Conv(_ConvNd):
    """Convolutions that are not transposed."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: str | Size = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, False, 0, groups, bias, padding_mode, device, dtype)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        convolve = getattr(F, f"conv{self._dims}d")
        if self.padding_mode != "zeros":
            padded = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            return convolve(padded, weight, bias, self.stride, 0, self.dilation, self.groups)
        return convolve(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        """Return the convolution of the input."""
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    """Convolves a signal: (N, C, L).

    >>> import undertow as ut
    >>> Conv1d(2, 3, 5, padding=2)(ut.zeros(1, 2, 20)).shape
    undertow.Size([1, 3, 20])
    """

    _dims = 1


class Conv2d(_Conv):
    """Convolves an image: (N, C, H, W).

    >>> import undertow as ut
    >>> Conv2d(1, 4, 3, stride=2)(ut.zeros(8, 1, 9, 9)).shape
    undertow.Size([8, 4, 4, 4])
    """

    _dims = 2


class Conv3d(_Conv):
    """Convolves a volume: (N, C, D, H, W)."""

    _dims = 3


class _ConvTransposeNd(_ConvNd):
    """Base class of transposed convolutions."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        output_padding: Size = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Size = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, True, output_padding, groups, bias, padding_mode, device, dtype
        )

    def _output_padding(self, input: Tensor, output_size: Sequence[int] | None) -> tuple[int, ...]:
        """Return the padding at the end of the output that gives the requested size."""
        if output_size is None:
            return self.output_padding
        n = self._dims
        lead = 2 if input.dim() == n + 2 else 1
        wanted = list(output_size)
        if len(wanted) == n + lead:
            wanted = wanted[lead:]
        if len(wanted) != n:
            raise ValueError(
                f"ConvTranspose{n}D: for {input.dim()}D input, output_size must have {n} or {n + lead} elements (got {len(output_size)})"
            )
        assert not isinstance(self.padding, str)
        least = [
            (input.size(d + lead) - 1) * self.stride[d] - 2 * self.padding[d] + self.dilation[d] * (self.kernel_size[d] - 1) + 1 for d in range(n)
        ]
        most = [least[d] + self.stride[d] - 1 for d in range(n)]
        if any(not low <= size <= high for low, size, high in zip(least, wanted, most, strict=True)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {least} to {most} (for an input of {input.size()[2:]})"
            )
        return tuple(size - low for size, low in zip(wanted, least, strict=True))

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """Return the transposed convolution of the input, with the smallest size or with output_size."""
        extra = self._output_padding(input, output_size)
        transposed = getattr(F, f"conv_transpose{self._dims}d")
        return transposed(input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation)


class ConvTranspose1d(_ConvTransposeNd):
    """Transposed convolution of a signal."""

    _dims = 1


class ConvTranspose2d(_ConvTransposeNd):
    """Transposed convolution of an image.

    >>> import undertow as ut
    >>> layer = ConvTranspose2d(4, 2, 3, stride=2, padding=1)
    >>> layer(ut.zeros(1, 4, 6, 6), output_size=(12, 12)).shape
    undertow.Size([1, 2, 12, 12])
    """

    _dims = 2


class ConvTranspose3d(_ConvTransposeNd):
    """Transposed convolution of a volume."""

    _dims = 3


if not TYPE_CHECKING:  # torch has these names here; type checkers find them in their own modules
    __getattr__ = names_from(
        __name__,
        {
            "undertow.nn.modules._lazy_layers": "LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d",
        },
    )
