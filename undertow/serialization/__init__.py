"""Tensors in files: `save` and `load`, for PyTorch's `.pt` files and for safetensors, neither of which can run code."""

from undertow.serialization._api import load, save

__all__ = ["load", "save"]
