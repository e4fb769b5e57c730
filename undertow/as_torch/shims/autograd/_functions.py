"""`torch.autograd._functions`: a Function that PyTorch's tests use."""

from __future__ import annotations

import math

from undertow.autograd import Function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["Resize"]


class Resize(Function):
    """The tensor with other sizes and the same number of elements."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, sizes: tuple[int, ...]) -> Tensor:
        if math.prod(sizes) != tensor.numel():
            raise RuntimeError(
                f"requested resize to {sizes} ({math.prod(sizes)} elements in total), but the given tensor has a size of {tensor.shape} "
                f"({tensor.numel()} elements). autograd's resize can only change the shape of a given tensor, while preserving the number of "
                "elements."
            )
        ctx.input_sizes = tensor.size()
        return tensor.contiguous().view(*sizes)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None]:
        return grad_output.contiguous().view(ctx.input_sizes), None
