"""The modules of devices this build does not support: queries that report no device, switches that do nothing, and functions that raise.

There is one table of names per device; `fill` creates the functions.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_FEW: dict[str, Any] = {"is_available": False, "device_count": 0, "manual_seed": None, "manual_seed_all": None, "empty_cache": None}
# For each device: the results of its queries, and the names of the functions that raise.
DEVICES: dict[str, tuple[dict[str, Any], str]] = {
    **dict.fromkeys(("mps", "mtia", "xpu"), (_FEW, "current_device synchronize")),
}


def fill(kind: str, namespace: dict[str, Any]) -> list[str]:
    """Add the functions of an absent device to the namespace of its module, and return their names.

    >>> names = {}
    >>> "synchronize" in fill("xpu", names), names["is_available"]()
    (True, False)
    """
    answers, raising = DEVICES[kind]
    namespace.update({name: answer(name, value) for name, value in answers.items()})
    namespace.update({name: unavailable(kind, name) for name in raising.split()})
    return sorted((*answers, *raising.split()))


def unavailable(kind: str, name: str) -> Callable[..., Any]:
    """Create a function that needs the device: it raises torch's exception class, and its message begins like torch's."""

    def function(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError(f"Torch not compiled with {kind.upper()} enabled; {kind}.{name}: this build of Undertow computes on the CPU only")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Raises: there is no such device."
    return function


def answer(name: str, value: Any) -> Callable[..., Any]:
    """Create a query function that always returns `value`."""

    def query(*args: Any, **kwargs: Any) -> Any:
        return value

    query.__name__ = query.__qualname__ = name
    query.__doc__ = f"{value!r}: there is no such device."
    return query


class NoContext:
    """A context manager of an absent device: entering it has no effect."""

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None: ...
