"""Pixel shuffle, channel shuffle, and the gated linear unit."""

from __future__ import annotations

import undertow as ut
from undertow._C import Tensor, _ops
from undertow._override import overridable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__: list[str] = ["channel_shuffle", "glu", "pixel_shuffle", "pixel_unshuffle"]


def _check_image(input: Tensor, name: str) -> None:
    if input.dim() < 3:
        raise RuntimeError(f"{name} expects input to have at least 3 dimensions, but got input with {input.dim()} dimension(s)")


def _copied(parts: Tensor, shape: Sequence[int]) -> Tensor:
    """Row-major memory of another shape. Not a view, also where nothing is rearranged, as in torch."""
    return _ops["_nn._unsafe_view"](parts.clone(memory_format=ut.contiguous_format), shape)


def _in_format_of(input: Tensor, result: Tensor) -> Tensor:
    last = input.dim() == 4 and not input.is_contiguous() and input.is_contiguous(memory_format=ut.channels_last)
    return result.contiguous(memory_format=ut.channels_last) if last else result


@overridable
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Rearrange (*, C r^2, H, W) to (*, C, H r, W r).

    >>> import undertow as ut
    >>> pixel_shuffle(ut.zeros(1, 8, 2, 3), 2).shape
    undertow.Size([1, 2, 4, 6])
    """
    _check_image(input, "pixel_shuffle")
    r = upscale_factor
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    *lead, c, h, w = input.shape
    if c % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={c} is not divisible by {r * r}"
        )
    n = len(lead)
    parts = input.reshape([*lead, c // (r * r), r, r, h, w])
    shuffled = _copied(parts.permute([*range(n), n, n + 3, n + 1, n + 4, n + 2]), [*lead, c // (r * r), h * r, w * r])
    return _in_format_of(input, shuffled)


@overridable
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Rearrange (*, C, H r, W r) to (*, C r^2, H, W)."""
    _check_image(input, "pixel_unshuffle")
    r = downscale_factor
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *lead, c, h, w = input.shape
    for name, size, dim in (("height", h, -2), ("width", w, -1)):
        if size % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({dim})={size} "
                f"is not divisible by {r}"
            )
    n = len(lead)
    parts = input.reshape([*lead, c, h // r, r, w // r, r])
    return _copied(parts.permute([*range(n), n, n + 2, n + 4, n + 1, n + 3]), [*lead, c * r * r, h // r, w // r])


@overridable
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Interleave the channels of `groups` groups: (N, g c, ...) is viewed as (N, g, c, ...) and transposed to (N, c, g, ...)."""
    if input.dim() < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    n, c, *space = input.shape
    if c % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups.")
    mixed = _copied(input.reshape([n, groups, c // groups, *space]).transpose(1, 2), input.shape)
    return _in_format_of(input, mixed)


@overridable
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Multiply the first half of a dimension by the sigmoid of the second half.

    >>> import undertow as ut
    >>> glu(ut.tensor([3.0, 0.0]))
    tensor([1.5000])
    """
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    if input.size(dim) % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim % input.dim()} is size {input.size(dim)}")
    value, gate = input.chunk(2, dim)
    return value * gate.sigmoid()
