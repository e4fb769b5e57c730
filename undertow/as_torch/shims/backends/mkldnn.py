"""Intel oneDNN: not used; Undertow has its own kernels."""

from undertow._absent_devices import NoContext, answer
from undertow.as_torch.shims.backends._flags import flags_of

enabled = False
deterministic = False
allow_tf32 = False
fp32_precision = "none"
flags = flags_of(__name__)
is_available = answer("is_available", False)
VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2


class verbose(NoContext):
    """Context manager without effect."""
