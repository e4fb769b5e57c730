"""There are no sparse tensors; what is here is the switch of their checks, which programs set beside other things."""

from __future__ import annotations

import functools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["check_sparse_tensor_invariants"]

_enabled = False


class check_sparse_tensor_invariants:
    """Whether sparse tensors are checked when they are made: a switch, a context and a decorator.

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
        """The switch."""
        return _enabled

    @staticmethod
    def enable() -> None:
        """On."""
        globals()["_enabled"] = True

    @staticmethod
    def disable() -> None:
        """Off."""
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
