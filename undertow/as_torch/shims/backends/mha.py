"""The short way through multi-head attention in evaluation: there is one way here."""

_fastpath = [True]


def get_fastpath_enabled() -> bool:
    """What `set_fastpath_enabled` was told."""
    return _fastpath[0]


def set_fastpath_enabled(value: bool) -> None:
    """Remembered; attention is computed in one way."""
    _fastpath[0] = bool(value)
