"""Apple GPUs: not supported."""

from __future__ import annotations

from undertow._absent_devices import answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

is_available: Callable[..., bool] = answer("is_available", False)
is_built: Callable[..., bool] = answer("is_built", False)
is_macos_or_newer: Callable[..., bool] = answer("is_macos_or_newer", False)
