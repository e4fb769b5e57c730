"""Linear and convolution layers that infer their number of input features from the first input."""

from __future__ import annotations

from undertow.nn.modules.conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from undertow.nn.modules.lazy import LazyModuleMixin
from undertow.nn.modules.linear import Linear
from undertow.nn.parameter import UninitializedParameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["LazyConv1d", "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d", "LazyLinear"]


class LazyLinear(LazyModuleMixin, Linear):
    """A Linear layer that infers in_features from its first input."""

    weight: UninitializedParameter
    bias: UninitializedParameter
    in_features: int
    cls_to_become: type[Any] = Linear

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, False)
        self.out_features = out_features
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Initialize like Linear, once the sizes are known."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Set in_features from the input's last dimension."""
        if self.has_uninitialized_params():
            self.in_features = input.shape[-1]
            self.weight.materialize((self.out_features, self.in_features))
            if self.bias is not None:
                self.bias.materialize((self.out_features,))
            self.reset_parameters()
        if self.in_features == 0:  # a state dict was loaded before the first call
            self.in_features = self.weight.shape[-1]


class _LazyConv(LazyModuleMixin):
    """Base class of lazy convolutions; comes before the class they become in the list of bases."""

    _dims: int
    weight: Any
    bias: Any
    in_channels: int
    out_channels: int
    groups: int

    def _make_parameters(self, shape: tuple[int, ...], bias: bool, device: Any, dtype: Any) -> None:
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)
        else:
            self.register_parameter("bias", None)  # type: ignore[attr-defined]  # of the layer that follows among the bases

    def reset_parameters(self) -> None:
        """Initialize like the layer, once the sizes are known."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]  # of the layer that follows among the bases

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Set in_channels from the input's channels."""
        if not self.has_uninitialized_params():
            return
        n = self._dims
        if input.dim() not in (n + 1, n + 2):
            raise RuntimeError(
                f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {type(self).__name__}, but got input of size: {input.shape}"
            )
        self.in_channels = input.shape[-n - 1]
        if self.in_channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        self.weight.materialize(self._weight_shape())  # type: ignore[attr-defined]  # of the layer that follows among the bases
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()


class _LazyForward(_LazyConv):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(0, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device, dtype)


class _LazyTransposed(_LazyConv):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(0, out_channels, kernel_size, stride, padding, output_padding, groups, bias, dilation, padding_mode, device, dtype)


class LazyConv1d(_LazyForward, Conv1d):
    """A Conv1d that infers in_channels from its first input."""

    cls_to_become: type[Any] = Conv1d


class LazyConv2d(_LazyForward, Conv2d):
    """A Conv2d that infers in_channels from its first input.

    >>> import undertow as ut
    >>> layer = LazyConv2d(4, 3)
    >>> layer(ut.zeros(1, 2, 5, 5)).shape, layer
    (undertow.Size([1, 4, 3, 3]), Conv2d(2, 4, kernel_size=(3, 3), stride=(1, 1)))
    """

    cls_to_become: type[Any] = Conv2d


class LazyConv3d(_LazyForward, Conv3d):
    """A Conv3d that infers in_channels from its first input."""

    cls_to_become: type[Any] = Conv3d


class LazyConvTranspose1d(_LazyTransposed, ConvTranspose1d):
    """A ConvTranspose1d that infers in_channels from its first input."""

    cls_to_become: type[Any] = ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposed, ConvTranspose2d):
    """A ConvTranspose2d that infers in_channels from its first input."""

    cls_to_become: type[Any] = ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposed, ConvTranspose3d):
    """A ConvTranspose3d that infers in_channels from its first input."""

    cls_to_become: type[Any] = ConvTranspose3d
