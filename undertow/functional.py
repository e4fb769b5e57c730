"""The functions that torch keeps in `torch.functional`; each is also in the package itself."""

from __future__ import annotations

import undertow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "broadcast_shapes",
    "broadcast_tensors",
    "cartesian_prod",
    "cdist",
    "chain_matmul",
    "einsum",
    "meshgrid",
    "norm",
    "split",
    "tensordot",
    "unique",
    "unique_consecutive",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(undertow, name)
    raise AttributeError(f"module 'undertow.functional' has no attribute {name!r}")
