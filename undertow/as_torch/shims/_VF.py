"""`torch._VF`: the operators, under the names that layers written for torch use."""

from __future__ import annotations

from operator import and_ as __and__  # noqa: F401 (torch's tables of functions list these five)
from operator import lshift as __lshift__  # noqa: F401
from operator import or_ as __or__  # noqa: F401
from operator import rshift as __rshift__  # noqa: F401
from operator import xor as __xor__  # noqa: F401

import undertow
from undertow.as_torch import shims


def unique_dim(
    input: undertow.Tensor, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[undertow.Tensor, ...]:
    """Return the unique slices along a dimension, their inverse indices and their counts; empty tensors for what is not asked for."""
    values, inverse, counts = undertow.unique(input, sorted, return_inverse=True, return_counts=True, dim=dim)
    nothing = undertow.empty(0, dtype=undertow.int64)
    return values, inverse if return_inverse else nothing, counts if return_counts else nothing


def __getattr__(name: str) -> object:
    return getattr(undertow if hasattr(undertow, name) else shims, name)
