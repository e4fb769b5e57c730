"""Make a Python function overridable with `__torch_function__`, like the core's operators."""

from __future__ import annotations

import functools

from undertow._C import Tensor
from undertow.overrides import handle_torch_function, has_torch_function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])


_TAKES_ANY_NUMBER = 0x04  # of a code object's flags: inspect.CO_VARARGS, without importing inspect

# NumPy's names of arguments, which torch's native functions accept.
_NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim", "a": "input", "x": "input", "x1": "input", "x2": "other"}


def overridable(function: F, other_names: dict[str, str] | None = None) -> F:
    """Make `function` call the override of any of its arguments, or of a mode. `other_names` are further names of keyword arguments.

    >>> overridable(lambda x: x + 1)(2)
    3
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if other_names and not other_names.keys().isdisjoint(kwargs):
            kwargs = _by_own_names(function, other_names, kwargs)
        given = (*args, *kwargs.values())
        if has_torch_function(given):
            return handle_torch_function(call, given, *args, **kwargs)
        try:
            return function(*args, **kwargs)
        except AttributeError:
            _check_tensors(function, args, kwargs)
            raise

    return call  # type: ignore[return-value]  # it takes what `function` takes


def _check_tensors(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise TypeError for an argument that must be a tensor and is none: a function in Python notices it by a missing attribute."""
    code = function.__code__
    names = list(code.co_varnames[: code.co_argcount])
    if code.co_flags & _TAKES_ANY_NUMBER:
        names += [code.co_varnames[code.co_argcount + code.co_kwonlyargcount]] * len(args)
    for at, (name, value) in enumerate([*zip(names, args, strict=False), *kwargs.items()]):
        if function.__annotations__.get(name) == "Tensor" and not isinstance(value, Tensor):
            place = f" (position {at + 1})" if at < len(args) else ""
            raise TypeError(f"{function.__name__}(): argument '{name}'{place} must be Tensor, not {type(value).__name__}") from None


def _by_own_names(function: Callable[..., Any], other_names: dict[str, str], kwargs: dict[str, Any]) -> dict[str, Any]:
    names = [other_names.get(name, name) for name in kwargs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise TypeError(f"{function.__name__}() got multiple values for argument '{twice}'")
    return dict(zip(names, kwargs.values(), strict=True))


def overridable_with_numpy_names(function: F) -> F:
    """Make `function` overridable, and let its arguments be given by NumPy's names too, as those of the core's operators.

    >>> overridable_with_numpy_names(lambda input, dim: input + dim)(1, axis=2)
    3
    """
    code = function.__code__
    own = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return overridable(function, {numpy: name for numpy, name in _NUMPY_NAMES.items() if name in own and numpy not in own})


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
