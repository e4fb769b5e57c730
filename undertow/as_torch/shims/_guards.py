"""`torch._guards`: the state of torch's tracer. Nothing is traced here."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["CompileContext", "TracingContext", "active_fake_mode", "detect_fake_mode"]


def active_fake_mode() -> None:
    """Return None: there are no fake tensors."""


def detect_fake_mode(inputs: Any = None) -> None:
    """Return None: there are no fake tensors."""


class TracingContext:
    """The state of a trace; there is none."""

    @staticmethod
    def try_get() -> None:
        """Return None."""


class CompileContext:
    """The state of a compilation; there is none."""

    @staticmethod
    def try_get() -> None:
        """Return None."""

    @staticmethod
    def current_compile_id() -> None:
        """Return None."""
