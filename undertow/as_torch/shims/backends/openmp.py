"""OpenMP: not used; Undertow has its own thread pool. See `undertow.set_num_threads`."""

from __future__ import annotations

from undertow._absent_devices import answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

is_available: Callable[..., bool] = answer("is_available", False)
