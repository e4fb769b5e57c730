"""Dropout modules: active in training mode, the identity in evaluation mode."""

from __future__ import annotations

from undertow._C import Tensor
from undertow.nn import functional as F
from undertow.nn.modules.module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    """Base class of dropout modules: the probability, and whether to work in place."""

    p: float
    inplace: bool

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Sets each element to zero with probability p, and divides the others by 1 - p."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply dropout in training mode; return the input in evaluation mode."""
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Dropout of whole channels of (N, C, L) or (C, L)."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply dropout in training mode; return the input in evaluation mode."""
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Dropout of whole channels of (N, C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply dropout in training mode; return the input in evaluation mode."""
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Dropout of whole channels of (N, C, D, H, W) or (C, D, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply dropout in training mode; return the input in evaluation mode."""
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout that preserves mean and variance, for use with SELU."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply dropout in training mode; return the input in evaluation mode."""
        return F.alpha_dropout(input, self.p, self.training, self.inplace)


class FeatureAlphaDropout(_DropoutNd):
    """AlphaDropout of whole channels."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply dropout in training mode; return the input in evaluation mode."""
        return F.feature_alpha_dropout(input, self.p, self.training, self.inplace)
