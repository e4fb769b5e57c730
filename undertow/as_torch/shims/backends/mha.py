"""The fast path of multi-head attention in evaluation mode. Undertow has a single implementation."""

_fastpath = [True]


def get_fastpath_enabled() -> bool:
    """Return the setting of `set_fastpath_enabled`."""
    return _fastpath[0]


def set_fastpath_enabled(value: bool) -> None:
    """Store the setting. It has no effect: there is one implementation of attention."""
    _fastpath[0] = bool(value)
