"""Lets a Python function of tensors be taken over by `__torch_function__`, as the core's operators are."""

from __future__ import annotations

import functools

from undertow.overrides import handle_torch_function, has_torch_function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])


def overridable(function: F) -> F:
    """`function`, handing over to an override that any of its arguments carries, or to a mode.

    >>> overridable(lambda x: x + 1)(2)
    3
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        if has_torch_function(given):
            return handle_torch_function(call, given, *args, **kwargs)
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]  # it takes what `function` takes
