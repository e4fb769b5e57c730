"""Batching rules of convolutions. Batched inputs are merged into the batch of images; batched weights become additional groups."""

from __future__ import annotations

import undertow
from undertow._vmap._dispatch import batched, rule, split

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor
    from undertow._vmap._dispatch import Operator
    from undertow._vmap._levels import Level


def _joined(t: Tensor, level: Level) -> Tensor:
    """Merge the samples into dimension 0: more images, or the weights of more groups."""
    value = batched(t, level)
    return value.reshape(level.size * value.shape[1], *value.shape[2:])


def _side_by_side(t: Tensor, level: Level) -> Tensor:
    """Merge the samples into the channels of the images."""
    value = batched(t, level).transpose(0, 1)
    return value.reshape(value.shape[0], level.size * value.shape[2], *value.shape[3:])


def _apart(t: Tensor, level: Level) -> Tensor:
    return t.reshape(level.size, t.shape[0] // level.size, *t.shape[1:])


def _channels_apart(t: Tensor, level: Level) -> Tensor:
    return t.reshape(t.shape[0], level.size, t.shape[1] // level.size, *t.shape[2:]).transpose(0, 1)


@rule("convolution")
def convolution(op: Operator, level: Level, args: list[Any]) -> Any:
    input, weight, bias, *windows = args  # the last of them is the number of groups
    own_bias, bias_is_batched = split(bias, level)
    shared = None if bias_is_batched else own_bias
    if not split(weight, level)[1] and not split(input, level)[1]:
        out = undertow.convolution(input, weight, None, *windows).unsqueeze(0)
    elif not split(weight, level)[1]:
        out = _apart(undertow.convolution(_joined(input, level), weight, shared, *windows), level)
    else:
        images, weights = _side_by_side(input, level), _joined(weight, level)
        windows[-1] *= level.size
        out = _channels_apart(undertow.convolution(images, weights, None, *windows), level)
        bias_is_batched = bias is not None
        own_bias = own_bias if own_bias is None or split(bias, level)[1] else own_bias.unsqueeze(0)
    if not bias_is_batched:
        return out
    return out + own_bias.reshape(own_bias.shape[0], 1, own_bias.shape[1], *[1] * (out.dim() - 3))


@rule("convolution_input")
def convolution_input(op: Operator, level: Level, args: list[Any]) -> Any:
    output, weight, size, *windows, groups = args
    if not split(weight, level)[1]:
        return _apart(op(_joined(output, level), weight, (level.size * size[0], *size[1:]), *windows, groups), level)
    wide = (size[0], level.size * size[1], *size[2:])
    images = op(_side_by_side(output, level), _joined(weight, level), wide, *windows, groups * level.size)
    return _channels_apart(images, level)


@rule("convolution_weight")
def convolution_weight(op: Operator, level: Level, args: list[Any]) -> Any:
    input, output, size, *windows, groups = args
    long = (level.size * size[0], *size[1:])
    weights = op(_side_by_side(input, level), _side_by_side(output, level), long, *windows, groups * level.size)
    return _apart(weights, level)


@rule("im2col")
@rule("col2im")
def fold(op: Operator, level: Level, args: list[Any]) -> Any:
    image = args[0]
    channels = 3 if op.public == "im2col" else 2  # number of dimensions of an unbatched image
    if image.dim() == channels:
        return op(batched(image, level), *args[1:])
    return _apart(op(_joined(image, level), *args[1:]), level)
