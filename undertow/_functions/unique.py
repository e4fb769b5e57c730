"""`unique` and `unique_consecutive`: distinct elements, with the requested additional results."""

from __future__ import annotations

from undertow._C import Tensor, _ops
from undertow._override import overridable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["unique", "unique_consecutive"]


def _asked_for(results: tuple[Tensor, ...], return_inverse: bool, return_counts: bool) -> Any:
    values, inverse, counts = results
    chosen = (values, *([inverse] if return_inverse else []), *([counts] if return_counts else []))
    return chosen if len(chosen) > 1 else values


@overridable
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """Return the distinct elements of `input` in ascending order, or its distinct slices along `dim`.

    With `return_inverse`, also return the index of each element in the result; with `return_counts`, the number of occurrences.

    >>> import undertow as ut
    >>> ut.unique(ut.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    if dim is None:
        results = _ops["_unique2"](input, sorted, return_inverse, return_counts)
    else:
        results = _ops["_unique_dim"](input, dim, sorted, return_inverse, return_counts)
    return _asked_for(results, return_inverse, return_counts)


@overridable
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Remove all but the first element of each run of equal elements (or of equal slices along `dim`).

    >>> import undertow as ut
    >>> ut.unique_consecutive(ut.tensor([3, 3, 1, 3]))
    tensor([3, 1, 3])
    """
    results = _ops["_unique_consecutive"](input, return_inverse, return_counts, dim)
    return _asked_for(results, return_inverse, return_counts)
