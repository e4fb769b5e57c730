"""What programs say to torch's compiler, where nothing is compiled: marks and settings that change nothing."""

from __future__ import annotations

from undertow.as_torch.shims._dynamo import config
from undertow.as_torch.shims.compiler import list_backends as list_backends

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = [
    "allow_in_graph", "config", "disable", "disallow_in_graph", "forbid_in_graph", "graph_break", "is_compiling", "mark_dynamic", "mark_static",
    "reset",
]  # fmt: skip


def reset() -> None:
    """Forgets what was compiled: nothing was."""


def is_compiling() -> bool:
    """Never."""
    return False


def graph_break(msg: str = "") -> None:
    """There is no graph to break."""


def disable(fn: Callable[..., Any] | None = None, recursive: bool = True, *, reason: str | None = None, wrapping: bool = True) -> Any:
    """The function as it is; without one, a decorator.

    >>> disable(len) is len, disable(recursive=False)(len) is len
    (True, True)
    """
    return (lambda f: f) if fn is None else fn


def allow_in_graph(fn: Any) -> Any:
    """The function as it is."""
    return fn


disallow_in_graph = forbid_in_graph = nonstrict_trace = assume_constant_result = allow_in_graph


def mark_dynamic(t: Any, index: Any, **limits: Any) -> None:
    """Sizes are numbers, and may differ between calls."""


mark_static = maybe_mark_dynamic = mark_unbacked = mark_dynamic


def optimize(*args: Any, **options: Any) -> Any:
    """A decorator that gives the function back."""
    return lambda fn: fn


run = disable
