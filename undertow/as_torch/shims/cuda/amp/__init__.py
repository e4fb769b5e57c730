"""The older names of automatic mixed precision on CUDA: disabled, with torch's warning. See undertow/amp."""

from __future__ import annotations

from undertow import amp as _amp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(_amp.autocast):
    """`amp.autocast("cuda")`."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(_amp.GradScaler):
    """`amp.GradScaler("cuda")`."""

    def __init__(
        self, init_scale: float = 2.0**16, growth_factor: float = 2.0, backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True
    ) -> None:
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(fwd: Any = None, **options: Any) -> Any:
    """`amp.custom_fwd(device_type="cuda")`."""
    return _amp.custom_fwd(fwd, device_type="cuda", **options)


def custom_bwd(bwd: Any) -> Any:
    """`amp.custom_bwd(device_type="cuda")`."""
    return _amp.custom_bwd(bwd, device_type="cuda")
