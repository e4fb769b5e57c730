"""`torch.profiler.itt`: ranges for Intel's profiler, which this build does not have."""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """Return False."""
    return False
