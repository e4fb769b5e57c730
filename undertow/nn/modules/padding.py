"""Padding layers: with a constant, or with the input's own elements."""

from __future__ import annotations

from undertow._C import Tensor
from undertow.nn import functional as F
from undertow.nn.modules.module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _PadNd(Module):
    """Pads the last `_rank` dimensions with mode `_mode`; one number pads every side."""

    __constants__: list[str] = ["padding"]
    padding: tuple[int, ...]
    _rank: int
    _mode: str

    def __init__(self, padding: Any) -> None:
        super().__init__()
        # A tuple or list is stored as given: a wrong length raises when the layer is called.
        self.padding = tuple(padding) if isinstance(padding, (tuple, list)) else (padding,) * (2 * self._rank)

    def forward(self, input: Tensor) -> Tensor:
        """Return the padded input."""
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        """Return the padding."""
        return f"{self.padding}"


class _ConstantPadNd(_PadNd):
    __constants__: list[str] = ["padding", "value"]
    _mode = "constant"

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """Return the padded input."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """Return padding and value."""
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Pads the last dimension with one value."""

    _rank = 1


class ConstantPad2d(_ConstantPadNd):
    """Pads the last two dimensions with one value.

    >>> import undertow as ut
    >>> ConstantPad2d(1, 3.5)(ut.zeros(1, 1, 1))
    tensor([[[3.5000, 3.5000, 3.5000],
             [3.5000, 0.0000, 3.5000],
             [3.5000, 3.5000, 3.5000]]])
    """

    _rank = 2


class ConstantPad3d(_ConstantPadNd):
    """Pads the last three dimensions with one value."""

    _rank = 3


class _ZeroPadNd(_ConstantPadNd):
    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """Return the padding."""
        return f"{self.padding}"


class ZeroPad1d(_ZeroPadNd):
    """Pads the last dimension with zeros."""

    _rank = 1


class ZeroPad2d(_ZeroPadNd):
    """Pads the last two dimensions with zeros."""

    _rank = 2


class ZeroPad3d(_ZeroPadNd):
    """Pads the last three dimensions with zeros."""

    _rank = 3


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Pads the last dimension with its reflection."""

    _rank = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Pads the last two dimensions with their reflection."""

    _rank = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Pads the last three dimensions with their reflection."""

    _rank = 3


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Pads the last dimension by repeating the elements at its edge."""

    _rank = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Pads the last two dimensions by repeating the elements at their edge."""

    _rank = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Pads the last three dimensions by repeating the elements at their edge."""

    _rank = 3


class _CircularPadNd(_PadNd):
    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        """Return the padded input."""
        if input.dim() not in (self._rank + 1, self._rank + 2):
            raise ValueError(f"expected {self._rank + 1}D or {self._rank + 2}D input (got {input.dim()}D input)")
        return super().forward(input)


class CircularPad1d(_CircularPadNd):
    """Pads the last dimension with the elements of its other end."""

    _rank = 1


class CircularPad2d(_CircularPadNd):
    """Pads the last two dimensions with the elements of their other ends."""

    _rank = 2


class CircularPad3d(_CircularPadNd):
    """Pads the last three dimensions with the elements of their other ends."""

    _rank = 3
