"""`torch._functorch.utils`: types of arguments, and the decorator that names a function's module."""

from __future__ import annotations

from typing import Any

__all__ = ["argnums_t", "exposed_in"]

argnums_t = int | tuple[int, ...]


def exposed_in(module: str) -> Any:
    """Return a decorator that sets a function's module."""

    def wrapper(fn: Any) -> Any:
        fn.__module__ = module
        return fn

    return wrapper
