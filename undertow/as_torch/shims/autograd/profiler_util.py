"""Names of torch.autograd.profiler_util that are not in undertow.autograd.profiler_util."""

from __future__ import annotations

__all__ = ["_format_time"]


def _format_time(time_us: float) -> str:
    """Return a time in microseconds as text, with the unit that fits."""
    if time_us >= 1e6:
        return f"{time_us / 1e6:.3f}s"
    return f"{time_us / 1e3:.3f}ms" if time_us >= 1e3 else f"{time_us:.3f}us"
