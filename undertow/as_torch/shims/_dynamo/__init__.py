"""The interface of torch's compiler. Nothing is compiled, so annotations and settings have no effect."""

from __future__ import annotations

from undertow.as_torch.shims._dynamo import config
from undertow.as_torch.shims.compiler import list_backends as list_backends

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = [
    "allow_in_graph", "config", "disable", "disallow_in_graph", "forbid_in_graph", "graph_break", "is_compiling", "mark_dynamic", "mark_static",
    "mark_static_address", "explain", "reset", "set_recursion_limit", "skip_frame",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name != "OptimizedModule":
        raise AttributeError(f"module 'torch._dynamo' has no attribute {name!r}")
    from undertow.as_torch.shims._dynamo.eval_frame import OptimizedModule

    return OptimizedModule


def reset() -> None:
    """Do nothing: there are no compiled functions to clear."""


def is_compiling() -> bool:
    """Return False."""
    return False


def graph_break(msg: str = "") -> None:
    """Do nothing: there is no graph."""


def disable(fn: Callable[..., Any] | None = None, recursive: bool = True, *, reason: str | None = None, wrapping: bool = True) -> Any:
    """Return the function unchanged, or a decorator if no function is given.

    >>> disable(len) is len, disable(recursive=False)(len) is len
    (True, True)
    """
    return (lambda f: f) if fn is None else fn


_disable_dynamo = disable  # torch's name for it outside this module


def allow_in_graph(fn: Any) -> Any:
    """Return the function unchanged."""
    return fn


disallow_in_graph = forbid_in_graph = nonstrict_trace = assume_constant_result = allow_in_graph


def mark_dynamic(t: Any, index: Any, **limits: Any) -> None:
    """Do nothing: sizes may differ between calls anyway."""


mark_static = maybe_mark_dynamic = mark_unbacked = mark_dynamic


def mark_static_address(t: Any, guard: bool = False) -> None:
    """Do nothing: there are no graphs that would keep an address."""


def set_recursion_limit(limit: int) -> None:
    """Do nothing: Python's own limit holds."""


reset_recompile_user_contexts = skip_frame = graph_break


def optimize(*args: Any, **options: Any) -> Any:
    """Return a decorator that returns the function unchanged."""
    return lambda fn: fn


class ExplainOutput:
    """The result of `explain`: there are no graphs."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []
        self.break_reasons: list[Any] = []
        self.ops_per_graph: list[Any] = []
        self.out_guards: list[Any] = []
        self.graph_count = self.graph_break_count = self.op_count = 0
        self.compile_times = ""

    def __str__(self) -> str:
        return "Graph Count: 0\nGraph Break Count: 0\nOp Count: 0\nNothing is compiled: the function runs eagerly."


def explain(f: Callable[..., Any], *extra_args: Any, **extra_kwargs: Any) -> Any:
    """Return a function that calls `f` and returns an account of its graphs, of which there are none.

    >>> explain(len)([]).graph_count
    0
    """

    def inner(*args: Any, **kwargs: Any) -> ExplainOutput:
        f(*args, **kwargs)
        return ExplainOutput()

    return inner(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else inner


run = disable
