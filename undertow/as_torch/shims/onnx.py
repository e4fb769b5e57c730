"""`torch.onnx`: there is no exporter. Programs ask whether one runs, and tell it about their operators."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["is_in_onnx_export", "register_custom_op_symbolic", "unregister_custom_op_symbolic"]


def is_in_onnx_export() -> bool:
    """Return False."""
    return False


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int) -> None:
    """Do nothing: nothing is exported."""


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Do nothing."""
