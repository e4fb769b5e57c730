"""The switch for checks of sparse tensors, which some programs set. There are no sparse tensors."""

from __future__ import annotations

import functools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["check_sparse_tensor_invariants"]

_enabled = False


class check_sparse_tensor_invariants:
    """Set whether sparse tensors are checked on creation; a switch, context manager and decorator.

    >>> with check_sparse_tensor_invariants():
    ...     check_sparse_tensor_invariants.is_enabled()
    True
    >>> check_sparse_tensor_invariants.is_enabled()
    False
    """

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved_state: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Return the setting."""
        return _enabled

    @staticmethod
    def enable() -> None:
        """Enable the checks."""
        globals()["_enabled"] = True

    @staticmethod
    def disable() -> None:
        """Disable the checks."""
        globals()["_enabled"] = False

    def __enter__(self) -> None:
        if self.saved_state is not None:
            raise RuntimeError("This context manager instance is already activated. Use a different context manager instance for context nesting.")
        self.saved_state = _enabled
        globals()["_enabled"] = self.state

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        globals()["_enabled"] = self.saved_state
        self.saved_state = None

    def __call__(self, mth: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(mth)
        def call(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return mth(*args, **kwargs)

        return call
