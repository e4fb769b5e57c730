"""Make a Python function overridable with `__torch_function__`, like the core's operators."""

from __future__ import annotations

import functools

from undertow.overrides import handle_torch_function, has_torch_function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])


def overridable(function: F) -> F:
    """Make `function` call the override of any of its arguments, or of a mode.

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


def overridable_by_modes(function: F) -> F:
    """Make `function`, which creates tensors, call the override of a mode.

    >>> overridable_by_modes(lambda x: x + 1)(2)
    3
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if has_torch_function(()):
            return handle_torch_function(call, (), *args, **kwargs)
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]  # it takes what `function` takes
