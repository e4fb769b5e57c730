"""Batching rules of advanced indexing (index, index_put) and of masks.

The indexed dimensions of self are moved to the front. Then the value is indexed with the index of the
sample followed by the indices of all samples.
"""

from __future__ import annotations

import undertow
from undertow._vmap._dispatch import batched, rule, split
from undertow._vmap._pointwise import pad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from undertow import Tensor
    from undertow._vmap._dispatch import Operator
    from undertow._vmap._levels import Level


def _is_mask(t: Tensor) -> bool:
    return t.dtype in (undertow.bool, undertow.uint8)


def _as_positions(indices: Sequence[Tensor | None], level: Level) -> list[Tensor | None]:
    """Convert masks to the indices of their True elements, one tensor per dimension of the mask."""
    out: list[Tensor | None] = []
    for t in indices:
        if t is None or not _is_mask(t):
            out.append(t)
            continue
        if split(t, level)[1]:
            raise RuntimeError(
                "vmap: We do not support batching operators that can support dynamic shape. Attempting "
                "to batch over indexing with a boolean mask: every sample would have its own number of "
                "elements; use where()"
            )
        out.extend(t.nonzero(as_tuple=True))
    return out


class _Place:
    """Which dimensions of self are indexed, and where the shape of the indices goes in the result."""

    def __init__(self, rank: int, indices: list[Tensor | None]) -> None:
        indices = indices + [None] * (rank - len(indices))
        self.indexed = [d for d, t in enumerate(indices) if t is not None]
        self.others = [d for d in range(rank) if d not in self.indexed]
        self.positions = [t for t in indices if t is not None]
        self.shape = undertow.broadcast_shapes(*(t.shape for t in self.positions))
        first, last = self.indexed[0], self.indexed[-1]
        # If the indexed dimensions are adjacent, the shape of the indices replaces them in the result; otherwise it comes first.
        self.at = first if last - first + 1 == len(self.indexed) else 0

    def result_from_front(self, value: Tensor) -> Tensor:
        """Move the dimensions of the indices from the front (after the batch) to their position in the result."""
        n = len(self.shape)
        if not self.at or not n:
            return value
        return value.movedim(list(range(1, n + 1)), list(range(self.at + 1, self.at + n + 1)))

    def result_to_front(self, value: Tensor) -> Tensor:
        n = len(self.shape)
        if not self.at or not n:
            return value
        return value.movedim(list(range(self.at + 1, self.at + n + 1)), list(range(1, n + 1)))


def _positions(place: _Place, level: Level) -> tuple[Tensor, ...]:
    """Return the index of the sample, followed by the indices of all samples."""
    n = len(place.shape)
    samples = undertow.arange(level.size).reshape(level.size, *(1,) * n)
    found = [samples]
    for t in place.positions:
        value, is_batched = split(t, level)
        found.append(pad(value, n - t.dim()) if is_batched else value)
    return tuple(found)


@rule("index")
def index(op: Operator, level: Level, args: list[Any]) -> Any:
    sample, indices = args
    indices = _as_positions(indices, level)
    place = _Place(sample.dim(), indices)
    value, is_batched = split(sample, level)
    if not is_batched:  # every sample reads the same tensor
        n = len(place.shape)
        at = tuple(t if t is None else pad(split(t, level)[0], n - t.dim()) if split(t, level)[1] else t for t in indices)
        return op(value, at).movedim(place.at, 0)
    if not any(split(t, level)[1] for t in place.positions):  # the same indices in every sample
        result = op(value, (None, *indices))
        is_front = place.at == 0 and place.indexed[-1] - place.indexed[0] + 1 != len(place.indexed)
        return result.movedim(len(place.shape), 0) if is_front else result
    ordered = value.permute(0, *(d + 1 for d in place.indexed), *(d + 1 for d in place.others))
    return place.result_from_front(op(ordered, _positions(place, level)))


@rule("index_put")
def index_put(op: Operator, level: Level, args: list[Any]) -> Any:
    sample, indices, source, accumulate = args
    indices = _as_positions(indices, level)
    place = _Place(sample.dim(), indices)
    value, is_batched = split(sample, level)
    if not is_batched:
        value = batched(sample, level)
    order = [0, *(d + 1 for d in place.indexed), *(d + 1 for d in place.others)]
    others = [sample.shape[d] for d in place.others]
    shape = [*others[: place.at], *place.shape, *others[place.at :]]
    source_value, source_is_batched = split(source, level)
    if source_is_batched:
        source_value = pad(source_value, len(shape) - source.dim())
    source_value = place.result_to_front(source_value.expand(level.size, *shape))
    result = op(value.permute(order), _positions(place, level), source_value, accumulate)
    if op.inplace:
        return None
    back = [order.index(d) for d in range(len(order))]
    return result.permute(back)


@rule("masked_select")
def masked_select(op: Operator, level: Level, args: list[Any]) -> Any:
    sample, mask = args
    if split(mask, level)[1]:
        raise RuntimeError(
            "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support "
            "this because for each batch this would return a differently shaped Tensor; use where()"
        )
    shape = undertow.broadcast_shapes(sample.shape, mask.shape)
    value = pad(split(sample, level)[0], len(shape) - sample.dim()).expand(level.size, *shape)
    positions = mask.expand(shape).reshape(-1).nonzero().squeeze(1)
    return value.reshape(level.size, mask.expand(shape).numel()).index_select(1, positions)


