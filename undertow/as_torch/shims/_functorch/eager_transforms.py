"""`torch._functorch.eager_transforms`: the transforms."""

from __future__ import annotations

from undertow.func import functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp
from undertow.func._reverse import check_argnums

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["error_if_complex", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"]


def error_if_complex(func_name: str, args: Any, is_input: bool) -> None:
    """Raise if a tensor among the arguments is complex."""
    from undertow import Tensor
    from undertow.utils._pytree import tree_leaves

    for at, arg in enumerate(tree_leaves(args)):
        if isinstance(arg, Tensor) and arg.is_complex():
            side = "inputs" if is_input else "outputs"
            raise RuntimeError(f"{func_name}: Expected all {side} to be real but received complex tensor at flattened input idx: {at}")


def _slice_argnums(args: tuple[Any, ...], argnums: int | tuple[int, ...], as_tuple: bool = True) -> Any:
    """Return the arguments at the given positions, after checking them.

    >>> _slice_argnums((1, 2, 3), (0, -1))
    (1, 3)
    """
    positions = check_argnums(argnums, len(args))
    if isinstance(argnums, int) and not as_tuple:
        return args[positions[0]]
    return tuple(args[i] for i in positions)
