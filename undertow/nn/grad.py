"""Gradients of convolutions as functions; they can be differentiated again."""

from __future__ import annotations

import undertow
from undertow._C import Tensor
from undertow.nn import functional as F

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]


def _of_input(convolve: Any, input_size: Any, weight: Tensor, grad_output: Tensor, options: tuple[Any, ...]) -> Tensor:
    # A convolution is linear, so the gradient with respect to the input does not depend on the input's values.
    recording = undertow.is_grad_enabled()
    with undertow.enable_grad():
        input = undertow.zeros(input_size, dtype=weight.dtype, device=weight.device, requires_grad=True)
        found: Any = undertow.autograd.grad(convolve(input, weight, None, *options), input, grad_output, create_graph=recording)
    return found[0]


def _of_weight(convolve: Any, input: Tensor, weight_size: Any, grad_output: Tensor, options: tuple[Any, ...]) -> Tensor:
    recording = undertow.is_grad_enabled()
    with undertow.enable_grad():
        weight = undertow.zeros(weight_size, dtype=input.dtype, device=input.device, requires_grad=True)
        found: Any = undertow.autograd.grad(convolve(input, weight, None, *options), weight, grad_output, create_graph=recording)
    return found[0]


def conv1d_input(
    input_size: Any, weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """Return the gradient of conv1d with respect to its input, given the gradient of its output."""
    return _of_input(F.conv1d, input_size, weight, grad_output, (stride, padding, dilation, groups))


def conv1d_weight(
    input: Tensor, weight_size: Any, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """Return the gradient of conv1d with respect to its weight, given the gradient of its output."""
    return _of_weight(F.conv1d, input, weight_size, grad_output, (stride, padding, dilation, groups))


def conv2d_input(
    input_size: Any, weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """Return the gradient of conv2d with respect to its input, given the gradient of its output.

    >>> import undertow as ut
    >>> conv2d_input((1, 1, 2, 2), ut.ones(1, 1, 1, 1), ut.ones(1, 1, 2, 2)).flatten()
    tensor([1., 1., 1., 1.])
    """
    return _of_input(F.conv2d, input_size, weight, grad_output, (stride, padding, dilation, groups))


def conv2d_weight(
    input: Tensor, weight_size: Any, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """Return the gradient of conv2d with respect to its weight, given the gradient of its output."""
    return _of_weight(F.conv2d, input, weight_size, grad_output, (stride, padding, dilation, groups))


def conv3d_input(
    input_size: Any, weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """Return the gradient of conv3d with respect to its input, given the gradient of its output."""
    return _of_input(F.conv3d, input_size, weight, grad_output, (stride, padding, dilation, groups))


def conv3d_weight(
    input: Tensor, weight_size: Any, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """Return the gradient of conv3d with respect to its weight, given the gradient of its output."""
    return _of_weight(F.conv3d, input, weight_size, grad_output, (stride, padding, dilation, groups))
