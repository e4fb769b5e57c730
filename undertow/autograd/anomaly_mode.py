"""Anomaly detection: report the forward line of a backward node that fails or returns nan."""

from __future__ import annotations

from undertow import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["detect_anomaly", "set_detect_anomaly"]


class _AnomalyContext:
    """Restores, on exit, the mode that was set when it was created."""

    prev: bool
    prev_check_nan: bool

    def __init__(self) -> None:
        self.prev = _C.is_anomaly_enabled()
        self.prev_check_nan = _C.is_anomaly_check_nan_enabled()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _C._set_anomaly_enabled(self.prev, self.prev_check_nan)


class detect_anomaly(_AnomalyContext):
    """Context manager: nodes store the source line that created them, and a failing backward pass shows it.

    With `check_nan`, a backward function that returns nan raises too. Slow: for debugging only.

    >>> import warnings
    >>> import undertow as ut
    >>> with warnings.catch_warnings(action="ignore"), ut.autograd.detect_anomaly():
    ...     ut.is_anomaly_enabled()
    True
    """

    def __init__(self, check_nan: bool = True) -> None:
        import warnings

        super().__init__()
        self.check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. Every recorded operation now stores its line, "
            "which is slow: use it to find an error, then switch it off.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        _C._set_anomaly_enabled(True, self.check_nan)


class set_detect_anomaly(_AnomalyContext):
    """Enable or disable anomaly detection: immediately as a function, or until the end of the block as a context manager.

    >>> import undertow as ut
    >>> with ut.autograd.set_detect_anomaly(True):
    ...     ut.is_anomaly_enabled()
    True
    >>> ut.is_anomaly_enabled()
    False
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__()
        _C._set_anomaly_enabled(mode, check_nan)

    def __enter__(self) -> None:
        pass
