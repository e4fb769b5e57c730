"""Convert keyword arguments of `Function.apply`, and defaults of callables that are not plain functions, to positional arguments.

The core calls this only if some arguments are not positional.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def bind_arguments(
    cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any], has_setup_context: bool
) -> tuple[Any, ...]:
    """Return the positional arguments of `cls.forward`, without `ctx`."""
    if has_setup_context:  # setup_context gets the defaults too
        from inspect import signature

        bound = signature(cls.forward).bind(*args, **kwargs)
        bound.apply_defaults()
        args, kwargs = bound.args, bound.kwargs
    if not kwargs:
        return args
    code = getattr(cls.forward, "__code__", None)
    if code is None:
        raise TypeError(f"{cls.__name__}.forward takes no keyword arguments: it is not a function")
    first = 0 if has_setup_context else 1  # ctx
    return _place(args, kwargs, code.co_varnames[first : code.co_argcount])


def _place(
    args: tuple[Any, ...], kwargs: dict[str, Any], names: tuple[str, ...]
) -> tuple[Any, ...]:
    """Insert keyword arguments at the positions of their names, after the positional arguments."""
    placed: dict[int, Any] = dict(enumerate(args))
    for key, value in kwargs.items():
        if key not in names:
            raise TypeError(f"forward() got an unexpected keyword argument {key!r}")
        position = names.index(key)
        if position < len(args):
            raise TypeError(f"forward() got multiple values for argument {key!r}")
        placed[position] = value
    if max(placed) >= len(names):
        raise TypeError(
            f"forward() takes {len(names)} positional arguments but {max(placed) + 1} were given"
        )
    for position in range(max(placed)):
        if position not in placed:
            raise TypeError(
                f"forward() missing required argument: {names[position]!r} (position {position})"
            )
    return tuple(placed[i] for i in range(len(placed)))
