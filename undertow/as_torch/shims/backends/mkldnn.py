"""Intel oneDNN: not used; Undertow has its own kernels."""

from __future__ import annotations

from undertow._absent_devices import NoContext, answer
from undertow.as_torch.shims.backends._flags import flags_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

enabled = False
deterministic = False
allow_tf32 = False
fp32_precision = "none"
flags: Callable[..., AbstractContextManager[None]] = flags_of(__name__)
is_available: Callable[..., bool] = answer("is_available", False)
VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2


class verbose(NoContext):
    """Context manager without effect."""
