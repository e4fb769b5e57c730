"""Functions behind layers that the package itself has with other results or layouts than `nn.functional`."""

from __future__ import annotations

import undertow
from undertow._C import Tensor
from undertow.nn._functions.pooling import adaptive_max_pool1d_with_indices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def adaptive_max_pool1d(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """The greatest of each of `output_size` parts of a line, and where it is; `nn.functional` has the one that gives no places.

    >>> import undertow as ut
    >>> ut.adaptive_max_pool1d(ut.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
    return adaptive_max_pool1d_with_indices(input, output_size)


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """A convolution of signals of shape (time, batch, channels), by a weight of (width, in, out)."""
    result = undertow.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return result.permute(2, 0, 1)
