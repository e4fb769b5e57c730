"""Intel's MKL: not here; Undertow's own kernels do its work."""

from undertow._absent_devices import NoContext, answer

is_available = answer("is_available", False)
VERBOSE_OFF, VERBOSE_ON = 0, 1


class verbose(NoContext):
    """Enters without effect."""
