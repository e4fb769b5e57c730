"""What the modules of absent devices share: queries that answer "none", switches that do nothing, and the refusal."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def refusal(kind: str, name: str) -> Callable[..., Any]:
    """A function that needs the device: it raises, with the class and first clause of torch's."""

    def refused(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError(f"Torch not compiled with {kind.upper()} enabled; {kind}.{name}: this build of Undertow computes on the CPU only")

    refused.__name__ = refused.__qualname__ = name
    refused.__doc__ = "Raises AssertionError: there is no such device."
    return refused


def answer(name: str, value: Any) -> Callable[..., Any]:
    """A query with one answer."""

    def query(*args: Any, **kwargs: Any) -> Any:
        return value

    query.__name__ = query.__qualname__ = name
    query.__doc__ = f"{value!r}: there is no such device."
    return query


class NoContext:
    """A context of an absent device: entering it changes nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None: ...
