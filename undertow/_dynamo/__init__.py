"""The switches of torch's compiler that programs set: there is no compiler here, so they remember and change nothing."""

from __future__ import annotations

from undertow._dynamo import config as config
from undertow.compiler import allow_in_graph as allow_in_graph
from undertow.compiler import disable as disable
from undertow.compiler import is_compiling as is_compiling
from undertow.compiler import list_backends as list_backends
from undertow.compiler import reset as reset

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def mark_dynamic(t: Any, index: Any, **more: Any) -> None:
    """Nothing is specialised on sizes."""


mark_static = maybe_mark_dynamic = mark_dynamic


def graph_break(msg: str = "") -> None:
    """There is no graph to break."""


def optimize(*args: Any, **options: Any) -> Any:
    """A decorator that gives the function back."""
    return lambda fn: fn


run = disable
