"""Normalisation of each sample: over its last dimensions, groups of channels, or neighbouring channels."""

from __future__ import annotations

import undertow
from undertow._C import Parameter, Tensor
from undertow.nn import functional as F
from undertow.nn import init
from undertow.nn._functions.normalization import channel_window_sum
from undertow.nn.modules.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


class LocalResponseNorm(Module):
    """Divides each value by a power of the mean square over neighbouring channels."""

    size: int
    alpha: float
    beta: float
    k: float

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalised input."""
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        """Return all settings."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Module):
    """LocalResponseNorm for images, with a window that is always centred: an even size has one neighbour less.

    torch's sum keeps the first channel after the window has moved past it; here the sum is over the window only.
    """

    size: int
    alpha: float
    beta: float
    k: float

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalised input."""
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        reach = (self.size - 1) // 2
        scale = channel_window_sum(input * input, reach, reach) * (self.alpha / self.size) + self.k
        return input * scale.pow(-self.beta)

    def extra_repr(self) -> str:
        """Return all settings."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class _OverLast(Module):
    """Base class of LayerNorm and RMSNorm: the shape to normalise over, and a weight of that shape."""

    normalized_shape: tuple[int, ...]
    elementwise_affine: bool

    def _prepare(self, shape: int | Sequence[int], elementwise_affine: bool, device: Any, dtype: Any) -> None:
        self.normalized_shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.elementwise_affine = elementwise_affine
        self._add("weight", elementwise_affine, device, dtype)

    def _add(self, name: str, wanted: bool, device: Any, dtype: Any) -> None:
        self.register_parameter(name, Parameter(undertow.empty(self.normalized_shape, device=device, dtype=dtype)) if wanted else None)


class LayerNorm(_OverLast):
    """Normalises each sample over its last dimensions; then multiplies by a weight and adds a bias.

    >>> import undertow as ut
    >>> ut.nn.LayerNorm(2, eps=0.0)(ut.tensor([1.0, 3.0])).tolist()
    [-1.0, 1.0]
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.eps = eps
        self._prepare(normalized_shape, elementwise_affine, device, dtype)
        self._add("bias", elementwise_affine and bias, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weight to one and bias to zero."""
        if self.elementwise_affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalised input."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return shape and settings."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"


class RMSNorm(_OverLast):
    """Divides each sample by its root mean square over the last dimensions; then multiplies by a weight."""

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float | None = None, elementwise_affine: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.eps = eps
        self._prepare(normalized_shape, elementwise_affine, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weight to one."""
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Return the normalised input."""
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """Return shape and settings."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Normalises groups of channels of each sample; then multiplies by a weight and adds a bias per channel."""

    num_groups: int
    num_channels: int
    eps: float
    affine: bool

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True
    ) -> None:
        super().__init__()
        if num_groups <= 0:
            raise ValueError(f"num_groups must be positive, got {num_groups}")
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(name, Parameter(undertow.empty(num_channels, device=device, dtype=dtype)) if wanted else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weight to one and bias to zero."""
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalised input."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return sizes and settings."""
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"
