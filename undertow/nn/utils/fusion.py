"""Fuse a convolution or linear layer with the following batch normalisation, for evaluation."""

from __future__ import annotations

import copy

import undertow
from undertow._C import Parameter, Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _folded(
    weight: Tensor, bias: Tensor | None, mean: Tensor, var: Tensor, eps: float, scale: Tensor | None, shift: Tensor | None, dim: int
) -> tuple[Parameter, Parameter]:
    """Return scale * (w x + b - mean) / sqrt(var + eps) + shift as one weight and bias; outputs are dimension `dim` of the weight."""
    bias = undertow.zeros_like(mean) if bias is None else bias
    scale = undertow.ones_like(mean) if scale is None else scale
    shift = undertow.zeros_like(mean) if shift is None else shift
    factor = scale * undertow.rsqrt(var + eps)
    shape = [1] * weight.dim()
    shape[dim] = -1
    fused = (weight * factor.reshape(shape)).to(weight.dtype), ((bias - mean) * factor + shift).to(bias.dtype)
    return Parameter(fused[0], weight.requires_grad), Parameter(fused[1], bias.requires_grad)


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Return the weight and bias of a convolution fused with the following normalisation."""
    return _folded(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 1 if transpose else 0)


def fuse_linear_bn_weights(
    linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor, bn_b: Tensor
) -> tuple[Parameter, Parameter]:
    """Return the weight and bias of a linear layer fused with the following normalisation."""
    return _folded(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 0)


def _fused(layer: Any, bn: Any, dim: int) -> Any:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    fused = copy.deepcopy(layer)
    fused.weight, fused.bias = _folded(fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, dim)
    return fused


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """Return a copy of a convolution fused with the following batch normalisation; both must be in evaluation mode."""
    return _fused(conv, bn, 1 if transpose else 0)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """Return a copy of a linear layer fused with the following batch normalisation; both must be in evaluation mode."""
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, "
            f"got linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    return _fused(linear, bn, 0)
