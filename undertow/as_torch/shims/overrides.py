"""Names of torch.overrides that are not in undertow.overrides."""

from __future__ import annotations

import functools

from undertow.overrides import get_overridable_functions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["get_testing_overrides"]


@functools.cache
def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return a replacement for each overridable function. It takes any arguments and returns -1."""
    return {function: lambda *args, **kwargs: -1 for functions in get_overridable_functions().values() for function in functions}
