"""The dropout functions of the package itself, without default arguments; those of nn.functional use them."""

from __future__ import annotations

import math

import undertow
from undertow._C import Tensor
from undertow._override import overridable

_ALPHA = 1.7580993408473766  # minus the limit of selu for inputs far below zero


def check_probability(p: float, error: type[Exception] = ValueError) -> None:
    """Raise if `p` is not a probability."""
    if not 0.0 <= p <= 1.0:
        raise error(f"dropout probability has to be between 0 and 1, but got {p}")


def dropped(input: Tensor, p: float, train: bool, *, feature: bool, alpha: bool, inplace: bool) -> Tensor:
    """Drop elements (or with `feature` whole channels) at random."""
    check_probability(p, RuntimeError)
    if p == 0 or not train or input.numel() == 0:
        return input
    multiply = input.mul_ if inplace else input.mul
    if p == 1:
        return multiply(undertow.zeros((), dtype=input.dtype))
    if feature:
        if input.dim() < 2:
            raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
        noise = input.new_empty((*input.shape[:2], *(1,) * (input.dim() - 2)))
    else:
        noise = undertow.empty_like(input)
    noise.bernoulli_(1 - p)
    if not alpha:
        return multiply(noise.div_(1 - p))
    # Dropped elements become -alpha; a and b preserve mean and variance.
    a = 1.0 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    b = noise.add(-1).mul_(_ALPHA * a).add_(_ALPHA * a * p)
    noise.mul_(a)
    result = multiply(noise)
    return result.add_(b)


@overridable
def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Set each element to zero with probability p, and divide the others by 1 - p."""
    return dropped(input, p, train, feature=False, alpha=False, inplace=False)


@overridable
def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """Apply `dropout` in place."""
    return dropped(input, p, train, feature=False, alpha=False, inplace=True)


@overridable
def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Apply dropout that preserves mean and variance."""
    return dropped(input, p, train, feature=False, alpha=True, inplace=False)


@overridable
def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """Apply `alpha_dropout` in place."""
    return dropped(input, p, train, feature=False, alpha=True, inplace=True)


@overridable
def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Apply dropout to whole channels."""
    return dropped(input, p, train, feature=True, alpha=False, inplace=False)


@overridable
def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """Apply `feature_dropout` in place."""
    return dropped(input, p, train, feature=True, alpha=False, inplace=True)


@overridable
def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Apply `alpha_dropout` to whole channels."""
    return dropped(input, p, train, feature=True, alpha=True, inplace=False)


@overridable
def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """Apply `feature_alpha_dropout` in place."""
    return dropped(input, p, train, feature=True, alpha=True, inplace=True)
