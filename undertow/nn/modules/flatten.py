"""Layers that reshape their input."""

from __future__ import annotations

from undertow._C import Tensor
from undertow.nn.modules.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Merges several dimensions into one; by default all but the batch."""

    start_dim: int
    end_dim: int

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        """Return the flattened input."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """Return the dimensions."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits one dimension into several."""

    dim: int
    unflattened_size: tuple[int, ...] | list[int]

    def __init__(self, dim: int, unflattened_size: tuple[int, ...] | list[int]) -> None:
        super().__init__()
        if not isinstance(dim, int):
            raise TypeError("invalid argument: dim must be int for Unflatten with int or tuple of ints")
        if not isinstance(unflattened_size, (tuple, list)) or not all(isinstance(s, int) for s in unflattened_size):
            raise TypeError(f"unflattened_size must be tuple of ints, but found type {type(unflattened_size).__name__}")
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        """Return the input with its dimension split."""
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """Return the dimension and sizes."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
