"""`torch._functorch.eager_transforms`: the transforms."""

from __future__ import annotations

from undertow.func import functionalize, hessian, jacfwd, jacrev, jvp, linearize, vjp
from undertow.func._reverse import check_argnums

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["functionalize", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"]


def _slice_argnums(args: tuple[Any, ...], argnums: int | tuple[int, ...], as_tuple: bool = True) -> Any:
    """Return the arguments at the given positions, after checking them.

    >>> _slice_argnums((1, 2, 3), (0, -1))
    (1, 3)
    """
    positions = check_argnums(argnums, len(args))
    if isinstance(argnums, int) and not as_tuple:
        return args[positions[0]]
    return tuple(args[i] for i in positions)
