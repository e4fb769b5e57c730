"""Layer functions of the package itself whose results or layouts differ from those in `nn.functional`."""

from __future__ import annotations

import undertow
from undertow._C import Tensor
from undertow.nn._functions.pooling import adaptive_max_pool1d_with_indices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def adaptive_max_pool1d(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """Return the largest element of each of `output_size` windows, and its index; the version in `nn.functional` returns no indices.

    >>> import undertow as ut
    >>> ut.adaptive_max_pool1d(ut.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
    return adaptive_max_pool1d_with_indices(input, output_size)


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """Convolve signals of shape (time, batch, channels) with a weight of shape (width, in, out)."""
    result = undertow.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return result.permute(2, 0, 1)
