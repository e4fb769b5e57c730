"""Resizing of images."""

from __future__ import annotations

import math
import warnings

from undertow._C import Tensor, _ops
from undertow._override import overridable
from undertow.nn._functions.pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__: list[str] = ["interpolate", "upsample", "upsample_bilinear", "upsample_nearest"]

_resample = _ops["_nn._resample"]
_WITHOUT_CORNERS = ("nearest", "area", "nearest-exact")
_ANTIALIASED = {"bilinear": "Bilinear2DAa", "bicubic": "Bicubic2DAa", "lanczos": "Lanczos2DAa"}
_KINDS = {
    ("linear", 3): "Linear1D",
    ("bilinear", 4): "Bilinear2D",
    ("trilinear", 5): "Trilinear3D",
    ("bicubic", 4): "Bicubic2D",
    **{("nearest", n + 2): f"Nearest{n}D" for n in (1, 2, 3)},
    **{("nearest-exact", n + 2): f"NearestExact{n}D" for n in (1, 2, 3)},
}
_NEEDS = {"linear": 3, "bilinear": 4, "trilinear": 5}
_AREA = {3: adaptive_avg_pool1d, 4: adaptive_avg_pool2d, 5: adaptive_avg_pool3d}


def _asked(input: Tensor, size: Any, scale_factor: Any) -> tuple[list[int] | None, list[float] | None]:
    """Return the output's size or its scale in each dimension, whichever is given."""
    space = input.dim() - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if not isinstance(size, (list, tuple)):
            return [size] * space, None
        if len(size) != space:
            raise ValueError(
                "Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of "
                f"{list(input.shape[2:])} and output size of {size}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
                "output size in (o1, o2, ...,oK) format."
            )
        return list(size), None
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if not isinstance(scale_factor, (list, tuple)):
        return None, [float(scale_factor)] * space
    if len(scale_factor) != space:
        raise ValueError(
            "Input and scale_factor must have the same number of spatial dimensions, but got input with spatial dimensions of "
            f"{list(input.shape[2:])} and scale_factor of shape {scale_factor}. Please provide input tensor in (N, C, d1, d2, ...,dK) "
            "format and scale_factor in (s1, s2, ...,sK) format."
        )
    return None, [float(s) for s in scale_factor]


def _resized(input: Tensor, kind: str, size: list[int] | None, scales: list[float] | None, align_corners: bool) -> Tensor:
    if size is None:
        assert scales is not None
        size = [int(n * s) for n, s in zip(input.shape[2:], scales, strict=True)]
    for n in size:
        if not isinstance(n, int):
            raise TypeError(f"interpolate(): size must be a tuple of ints, but found element of type {type(n).__name__}")
    padded = [None] * (3 - len(size)) + (list(scales) if scales is not None else [None] * len(size))
    return _resample(input, size, kind, align_corners, *padded)


@overridable
def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resize `input` to `size` or by `scale_factor`: nearest, linear, cubic or Lanczos interpolation, or averages (mode "area").

    >>> import undertow as ut
    >>> interpolate(ut.tensor([[[1.0, 3.0]]]), size=4, mode="linear")
    tensor([[[1.0000, 1.5000, 2.5000, 3.0000]]])
    """
    if mode in _WITHOUT_CORNERS:
        if align_corners is not None:
            raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear")
    elif align_corners is None:
        align_corners = False
    output_size, scales = _asked(input, size, scale_factor)
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if scales is not None and (recompute_scale_factor or mode == "area"):
        output_size = [math.floor(n * s) for n, s in zip(input.shape[2:], scales, strict=True)]
        scales = None
    if antialias and not (mode in _ANTIALIASED and input.dim() == 4):
        raise ValueError("Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input")
    if mode == "lanczos" and input.dim() == 4 and not antialias:
        raise ValueError("Lanczos mode requires antialias=True")
    kind = _ANTIALIASED[mode] if antialias else _KINDS.get((mode, input.dim()))
    if kind is not None:
        return _resized(input, kind, output_size, scales, bool(align_corners))
    if mode == "area" and input.dim() in _AREA:
        return _AREA[input.dim()](input, output_size)
    if mode in _NEEDS and input.dim() in (3, 4, 5):
        raise NotImplementedError(f"Got {input.dim()}D input, but {mode} mode needs {_NEEDS[mode]}D input")
    raise NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.dim()}D) for the modes: nearest | linear | bilinear | "
        f"bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
    )


def _deprecated(name: str) -> None:
    warnings.warn(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=4)


@overridable
def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """The old name of `interpolate`."""
    _deprecated("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


@overridable
def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """The old name of `interpolate` with mode "nearest"."""
    _deprecated("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


@overridable
def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """The old name of `interpolate` with mode "bilinear" and aligned corners."""
    _deprecated("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
