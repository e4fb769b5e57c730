"""Signal processing."""

from undertow.signal import windows

__all__ = ["windows"]
