"""Dropout of elements or whole channels, and the other random activations.

Random numbers are the same as torch's for the same seed: one `bernoulli_` of the mask's shape, in the input's dtype.
"""

from __future__ import annotations

import warnings

import undertow
from undertow._C import Tensor, _ops
from undertow._override import overridable
from undertow.nn._functions.dropout_core import check_probability, dropped

__all__: list[str] = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout", "gumbel_softmax", "rrelu", "rrelu_"]


@overridable
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set each element to zero with probability `p`, and divide the others by 1 - p.

    >>> import undertow as ut
    >>> _ = ut.manual_seed(0)
    >>> dropout(ut.ones(6))
    tensor([0., 0., 2., 0., 0., 0.])
    """
    check_probability(p)
    return dropped(input, p, training, feature=False, alpha=False, inplace=inplace)


@overridable
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Apply dropout that preserves mean and variance, for use with selu."""
    check_probability(p)
    return dropped(input, p, training, feature=False, alpha=True, inplace=inplace)


@overridable
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Apply alpha_dropout to whole channels."""
    check_probability(p)
    return dropped(input, p, training, feature=True, alpha=True, inplace=inplace)


def _channels(input: Tensor, p: float, training: bool, inplace: bool, alone: bool) -> Tensor:
    if not alone:
        return dropped(input, p, training, feature=True, alpha=False, inplace=inplace)
    batch = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    result = dropped(batch, p, training, feature=True, alpha=False, inplace=inplace)
    return result.squeeze_(0) if inplace else result.squeeze(0)


@overridable
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set whole channels of (N, C, L) or (C, L) to zero with probability `p`, and divide the others by 1 - p."""
    check_probability(p)
    dims = input.dim()
    if dims not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {dims}D input. Note that dropout1d exists to provide channel-wise "
            "dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."
        )
    return _channels(input, p, training, inplace, alone=dims == 2)


def _warn_of_dims(name: str, dims: int, space: int) -> None:
    warnings.warn(
        f"{name}: Received a {dims}-D input to {name}, which is deprecated and will result in an error in a future release. "
        "To retain the behavior and silence this warning, please use dropout instead. "
        f"Note that {name} exists to provide channel-wise dropout on inputs with {space} spatial dimensions, a channel "
        f"dimension, and an optional batch dimension (i.e. {space + 1}D or {space + 2}D inputs).",
        stacklevel=4,
    )


@overridable
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set whole channels of (N, C, H, W) to zero with probability `p`, and divide the others by 1 - p."""
    check_probability(p)
    dims = input.dim()
    if dims not in (3, 4):
        _warn_of_dims("dropout2d", dims, 2)
    if dims == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - input is "
            "interpreted as shape (N, C, L), where C is the channel dim. For (C, H, W) add a batch dimension; for 1D dropout use dropout1d.",
            stacklevel=3,
        )
    return _channels(input, p, training, inplace, alone=False)


@overridable
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set whole channels of (N, C, D, H, W) or (C, D, H, W) to zero with probability `p`, and divide the others by 1 - p."""
    check_probability(p)
    dims = input.dim()
    if dims not in (4, 5):
        _warn_of_dims("dropout3d", dims, 3)
    return _channels(input, p, training, inplace, alone=dims != 5)


@overridable
def rrelu(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False) -> Tensor:
    """Multiply negative elements by a slope: random per element in [lower, upper] in training, otherwise the mean of both."""
    if lower > upper:
        raise RuntimeError(f"Lower bound should be less than or equal to the upper bound, but got {lower} and {upper}")
    if not training:
        slope = (lower + upper) / 2
        return _ops["nn.functional.leaky_relu"](input, slope, inplace)
    with undertow.no_grad():
        noise, below = undertow.ones_like(input), input.detach() <= 0
        slopes = undertow.empty(int(below.sum()), dtype=undertow.float64).uniform_(lower, upper)
        noise = noise.masked_scatter(below, slopes.to(noise.dtype))
    return input.mul_(noise) if inplace else input * noise


def rrelu_(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    """Apply `rrelu` in place."""
    return rrelu(input, lower, upper, training, inplace=True)


@overridable
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Draw a sample of the Gumbel-softmax distribution: soft, or with `hard` one-hot with the gradient of the soft sample."""
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=3)
    noise = -undertow.empty_like(logits, memory_format=undertow.contiguous_format).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one_hot = undertow.zeros_like(logits).scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft
