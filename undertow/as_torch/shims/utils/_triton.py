"""`torch.utils._triton`: there is no compiler for GPUs."""

__all__ = ["has_triton", "has_triton_package"]


def has_triton() -> bool:
    """Return False."""
    return False


has_triton_package = has_triton
