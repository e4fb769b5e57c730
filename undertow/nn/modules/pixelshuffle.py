"""Layers that rearrange channels to pixels, and back."""

from __future__ import annotations

from undertow._C import Tensor
from undertow.nn import functional as F
from undertow.nn.modules.module import Module

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Module):
    """Rearranges (..., C r^2, H, W) to (..., C, H r, W r).

    >>> import undertow as ut
    >>> ut.nn.PixelShuffle(3)(ut.ones(1, 9, 4, 4)).shape
    undertow.Size([1, 1, 12, 12])
    """

    __constants__: list[str] = ["upscale_factor"]

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """Return the larger image."""
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        """Return the factor."""
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Rearranges (..., C, H r, W r) to (..., C r^2, H, W).

    >>> import undertow as ut
    >>> ut.nn.PixelUnshuffle(3)(ut.ones(1, 1, 12, 12)).shape
    undertow.Size([1, 9, 4, 4])
    """

    __constants__: list[str] = ["downscale_factor"]

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """Return the smaller image."""
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        """Return the factor."""
        return f"downscale_factor={self.downscale_factor}"
