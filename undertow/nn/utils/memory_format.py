"""Memory formats of convolution weights."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _converted(module: Any, memory_format: Any, classes: tuple[str, ...]) -> Any:
    for part in module.modules():
        if any(c.__name__ in classes for c in type(part).__mro__):
            part.weight.data = part.weight.detach().clone().contiguous(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Convert the weights of the module's 2d convolutions to `memory_format`."""
    return _converted(module, memory_format, ("Conv2d", "ConvTranspose2d"))


def convert_conv3d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Convert the weights of the module's 3d convolutions to `memory_format`."""
    return _converted(module, memory_format, ("Conv3d", "ConvTranspose3d"))
