"""The supported part of functorch.experimental."""

from __future__ import annotations

from undertow.func import functionalize, jvp, replace_all_batch_norm_modules_, vmap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["chunk_vmap", "functionalize", "jvp", "replace_all_batch_norm_modules_"]


def chunk_vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", chunks: int = 2) -> Callable[..., Any]:
    """Return vmap of the function in a number of chunks."""
    from undertow._vmap._api import _process_batched_inputs

    def mapped(*args: Any, **kwargs: Any) -> Any:
        size = _process_batched_inputs(in_dims, args, func)[0]
        return vmap(func, in_dims, out_dims, randomness, chunk_size=-(-size // chunks))(*args, **kwargs)

    return mapped if chunks > 1 else vmap(func, in_dims, out_dims, randomness)
