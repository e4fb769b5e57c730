"""`compile` and its switches: Undertow runs programs eagerly, so a compiled function is the function, and a compiled module calls the module."""

from __future__ import annotations

import functools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
    "set_stance",
]


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    **more: Any,
) -> Any:
    """Return a function unchanged, and a module in an OptimizedModule that calls it, whose state dict has torch's keys.

    There is no compiler, and the overhead per operation is low enough without one.

    >>> import undertow as ut
    >>> square = compile(lambda x: x * x)
    >>> square(ut.tensor(3.0))
    tensor(9.)
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if model is None:
        return functools.partial(compile, mode=mode, options=options)
    from undertow.as_torch.shims._dynamo.eval_frame import Module, OptimizedModule

    return OptimizedModule(model) if isinstance(model, Module) and not disable else model


def disable(fn: Any = None, recursive: bool = True, **more: Any) -> Any:
    """Return `fn`, or a decorator that returns its function."""
    return (lambda f: f) if fn is None else fn


def allow_in_graph(fn: Any) -> Any:
    """Return `fn`."""
    return fn


assume_constant_result = allow_in_graph
substitute_in_graph = allow_in_graph


class set_stance:
    """Has no effect, as a function, decorator or context manager."""

    def __init__(self, stance: str = "default", **more: Any) -> None:
        self.stance = stance

    def __call__(self, fn: Any) -> Any:
        return fn

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None: ...


def is_compiling() -> bool:
    """Return False: nothing is compiled."""
    return False


is_dynamo_compiling = is_compiling
is_exporting = is_compiling


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """Return an empty list: there are no compilers."""
    return []


def reset() -> None:
    """Do nothing: there are no compiled functions to clear."""


cudagraph_mark_step_begin = reset
