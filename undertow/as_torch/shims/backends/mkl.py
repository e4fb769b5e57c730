"""Intel MKL: not used; Undertow has its own kernels."""

from undertow._absent_devices import NoContext, answer

is_available = answer("is_available", False)
VERBOSE_OFF, VERBOSE_ON = 0, 1


class verbose(NoContext):
    """Context manager without effect."""
