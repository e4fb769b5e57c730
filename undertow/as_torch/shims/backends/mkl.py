"""Intel MKL: not used; Undertow has its own kernels."""

from __future__ import annotations

from undertow._absent_devices import NoContext, answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

is_available: Callable[..., bool] = answer("is_available", False)
VERBOSE_OFF, VERBOSE_ON = 0, 1


class verbose(NoContext):
    """Context manager without effect."""
