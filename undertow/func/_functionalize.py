"""`functionalize` and `debug_unwrap`: torch's tools for inspecting transforms."""

from __future__ import annotations

from undertow import _C
from undertow.utils._contextlib import _dressed_as

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from undertow import Tensor


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """Return `func` unchanged.

    torch removes in-place writes before tracing; our transforms support writes and views, so this is not needed.

    >>> import undertow as ut
    >>> def f(x):
    ...     y = x.clone()
    ...     y.add_(1)
    ...     return y
    >>> ut.func.functionalize(f)(ut.zeros(2))
    tensor([1., 1.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are: "
                           "remove='mutations', remove='mutations_and_views'")

    def functionalized(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return _dressed_as(functionalized, func)


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """Return the whole batch behind the sample that a vmapped function sees; with `recurse`, unwrap all nested vmaps.

    >>> import undertow as ut
    >>> seen = []
    >>> _ = ut.vmap(lambda x: (seen.append(ut.func.debug_unwrap(x)), x)[1])(ut.ones(3, 2))
    >>> seen[0].shape
    undertow.Size([3, 2])
    """
    value = tensor
    while _C._batched_level(value) >= 0:
        value = _C._batched_value(value)
        if not recurse:
            break
    return value
