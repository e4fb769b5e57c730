"""Sampling of images at the points of a grid. Composed of gathers and products, so every derivative exists."""

from __future__ import annotations

import itertools
import warnings

import undertow as ut
from undertow._C import Tensor
from undertow._override import overridable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__: list[str] = ["affine_grid", "grid_sample"]

_BILINEAR, _NEAREST, _BICUBIC = range(3)
_ZEROS, _BORDER, _REFLECTION = range(3)
_MODES = {"bilinear": _BILINEAR, "nearest": _NEAREST, "bicubic": _BICUBIC}
_PADDINGS = {"zeros": _ZEROS, "border": _BORDER, "reflection": _REFLECTION}
_CUBIC = -0.75


def _to_pixels(at: Tensor, size: int, align_corners: bool) -> Tensor:
    """Convert [-1, 1] to pixel coordinates: the ends are the centers of the outer pixels, or their outer edges."""
    return (at + 1) / 2 * (size - 1) if align_corners else ((at + 1) * size - 1) / 2


def _within(at: Tensor, size: int) -> Tensor:
    """Clamp `at` to the image; the result is constant outside, without a gradient."""
    last = float(size - 1)
    inside = (at > 0) & (at < last)
    return ut.where(inside, at, ut.where(at >= last, last, 0.0).to(at.dtype))


def _mirrored(at: Tensor, size: int, align_corners: bool) -> Tensor:
    low, high = (0.0, float(size - 1)) if align_corners else (-0.5, size - 0.5)
    if low == high:
        return at * 0
    span = high - low
    away = (at - low).abs()
    turns = (away / span).floor().detach()
    rest = away - turns * span
    return ut.where(turns % 2 == 0, rest + low, span - rest + low)


def _padded(at: Tensor, size: int, padding: int, align_corners: bool) -> Tensor:
    if padding == _ZEROS:
        return at
    if padding == _REFLECTION:
        at = _mirrored(at, size, align_corners)
    return _within(at, size)


def _whole(at: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Convert a whole number to a valid index; also return whether it was in range."""
    place = at.detach().clamp(-2, size + 1).to(ut.int64)
    return place.clamp(0, size - 1), (place >= 0) & (place < size)


def _cubic_weights(t: Tensor) -> list[Tensor]:
    def near(x: Tensor) -> Tensor:
        return ((_CUBIC + 2) * x - (_CUBIC + 3)) * x * x + 1

    def far(x: Tensor) -> Tensor:
        return ((_CUBIC * x - 5 * _CUBIC) * x + 8 * _CUBIC) * x - 4 * _CUBIC

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _taps(at: Tensor, size: int, mode: int, padding: int, align_corners: bool) -> list[tuple[Tensor, Tensor, Any]]:
    """Return the elements that contribute to a sample along one axis, as (index, in range, weight)."""
    at = _to_pixels(at, size, align_corners)
    if mode == _BICUBIC:
        left = at.floor().detach()
        found = []
        for k, weight in enumerate(_cubic_weights(at - left)):
            found.append((*_whole(_padded(left + (k - 1), size, padding, align_corners), size), weight))
        return found
    at = _padded(at, size, padding, align_corners)
    if mode == _NEAREST:
        # One everywhere, but part of the grid's graph, so that its derivative is zero and not None.
        return [(*_whole(at.detach().round(), size), ut.where(ut.zeros_like(at, dtype=ut.bool), at, 1.0))]
    left = at.floor().detach()
    t = at - left
    return [(*_whole(left, size), 1 - t), (*_whole(left + 1, size), t)]


def _sampled(input: Tensor, grid: Tensor, mode: int, padding: int, align_corners: bool) -> Tensor:
    space = input.shape[2:]
    n, c = input.shape[:2]
    points = grid.shape[1:-1]
    flat = input.reshape(n, c, -1)
    # The grid's last dimension lists the axes in reverse order.
    axes = [_taps(grid[..., len(space) - 1 - d], size, mode, padding, align_corners) for d, size in enumerate(space)]
    total = None
    for corner in itertools.product(*axes):
        place, exists, weight = corner[0]
        for (index, there, w), size in zip(corner[1:], space[1:], strict=True):
            place, exists, weight = place * size + index, exists & there, weight * w
        values = flat.gather(2, place.reshape(n, 1, -1).expand(n, c, -1)).reshape(n, c, *points)
        part = ut.where(exists.unsqueeze(1), values * weight.unsqueeze(1), 0.0)
        total = part if total is None else total + part
    assert total is not None
    return total.contiguous()


def _check(input: Tensor, grid: Tensor, mode: int) -> None:
    if input.dtype != grid.dtype:
        raise RuntimeError(f"grid_sampler(): expected input and grid to have same dtype, but input has {input.dtype} and grid has {grid.dtype}")
    if input.shape[:1] != grid.shape[:1]:
        raise RuntimeError(
            "grid_sampler(): expected grid and input to have same batch size, but got input with sizes "
            f"{list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if grid.shape[-1] != input.dim() - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {input.dim() - 2} in last dimension, but got grid with sizes {list(grid.shape)}"
        )
    for d in range(2, input.dim()):
        if not input.shape[d]:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
                f"{list(input.shape)} with dimension {d} being empty"
            )
    if input.dim() not in (4, 5) or input.dim() != grid.dim():
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got input with sizes "
            f"{list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if mode == _BICUBIC and input.dim() != 4:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if not input.is_floating_point():
        raise NotImplementedError(f"\"grid_sampler\" not implemented for '{input.dtype}'")


@overridable
def grid_sampler(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Tensor:
    """Call `grid_sample` with integers for its modes: bilinear, nearest, bicubic; zeros, border, reflection."""
    _check(input, grid, interpolation_mode)
    return _sampled(input, grid, interpolation_mode, padding_mode, align_corners)


grid_sampler_2d = grid_sampler
grid_sampler_3d = grid_sampler


@overridable
def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """Sample `input` at the points of `grid`, given as (x, y) or (x, y, z) from -1 to 1.

    >>> import undertow as ut
    >>> image = ut.tensor([[[[1.0, 3.0], [5.0, 7.0]]]])
    >>> grid_sample(image, ut.zeros(1, 1, 1, 2), align_corners=False)
    tensor([[[[4.]]]])
    """
    if mode not in _MODES:
        raise ValueError(f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'")
    if padding_mode not in _PADDINGS:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    if align_corners is None:
        _warn_corners("grid_sample")
        align_corners = False
    return grid_sampler(input, grid, _MODES[mode], _PADDINGS[padding_mode], align_corners)


def _warn_corners(name: str) -> None:
    warnings.warn(
        f"Default {name} and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
        "align_corners=True if the old behavior is desired.",
        stacklevel=4,
    )


def _centers(n: int, align_corners: bool, like: Tensor) -> Tensor:
    """Return the coordinates of n pixels in [-1, 1]."""
    if n <= 1:
        return ut.zeros(n, dtype=like.dtype)
    at = ut.linspace(-1, 1, n, dtype=like.dtype)
    return at if align_corners else at * ((n - 1) / n)


@overridable
def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """Return the grid of theta times the pixel coordinates of an image of the given size."""
    n, _, *space = size
    axes = [_centers(s, align_corners, theta) for s in space]
    places = ut.meshgrid(*axes, indexing="ij")[::-1]
    base = ut.stack([*places, ut.ones(space, dtype=theta.dtype)], -1)
    flat = base.reshape(1, -1, len(space) + 1).expand(n, -1, -1)
    return flat.bmm(theta.transpose(1, 2)).reshape(n, *space, len(space))


@overridable
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Create the grid for `grid_sample` that transforms an image of `size` with the affine maps `theta`.

    >>> import undertow as ut
    >>> affine_grid(ut.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]), (1, 1, 1, 2), align_corners=True)
    tensor([[[[-1.,  0.],
              [ 1.,  0.]]]])
    """
    if align_corners is None:
        _warn_corners("grid_sample")
        align_corners = False
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size {size}."
        )
    n = len(size) - 2
    if theta.dim() != 3 or theta.shape[-2] != n or theta.shape[-1] != n + 1:
        raise ValueError(
            f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size {tuple(size)}. Got {theta.shape}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {tuple(size)}")
    return affine_grid_generator(theta, size, align_corners)
