"""Move tensors, with their tangents, into and out of the levels of vmap.

A tangent belongs to the value. It may be batched at a level where its primal is not, so a vmap over the tangents
alone computes the primal once and the tangents for every sample. When such a tensor is combined with one that
is batched at that level, it is expanded over the samples first; primal and tangent are expanded separately.
"""

from __future__ import annotations

from undertow import _C
from undertow.autograd import forward_ad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from undertow import Tensor
    from undertow._vmap._levels import Level

level_of = _C._batched_level  # -1 for a tensor that is not batched
value_of = _C._batched_value
make_batched = _C._make_batched


def wrap_all(result: Tensor | Iterable[Tensor], number: int) -> Tensor | list[Tensor]:
    """Wrap every tensor in the result as batched at a level."""
    if isinstance(result, _C.Tensor):
        return make_batched(result, number)
    return [make_batched(t, number) for t in result]


def unwrap_level(t: Tensor, number: int) -> Tensor | None:
    """Remove one level from `t`: its batch becomes dimension 0. Return None if `t` is not batched there."""
    outer = level_of(t)
    if outer == number:
        return value_of(t)
    if outer < number:
        return None
    inner = unwrap_level(value_of(t), number)
    return None if inner is None else make_batched(inner.transpose(0, 1), outer)


def wrap_level(t: Tensor, number: int) -> Tensor:
    """The inverse of unwrap_level: make dimension 0 the batch of a level, inside of later levels."""
    outer = level_of(t)
    if outer < number:
        return make_batched(t, number)
    return make_batched(wrap_level(value_of(t).transpose(0, 1), number), outer)


def physical(t: Tensor) -> Tensor:
    """Return the value under all levels, which has the history and the tangent."""
    while level_of(t) >= 0:
        t = value_of(t)
    return t


# ---- tangents ----


def make_dual(primal: Tensor, tangent: Tensor) -> Tensor:
    number = level_of(primal)
    if number < 0:
        return _C._make_dual(primal, tangent)
    value = value_of(primal)
    part = unwrap_level(tangent, number)
    if part is None:
        part = tangent.unsqueeze(0).expand(value.shape[0], *tangent.shape)
    return make_batched(make_dual(value, part), number)


def unpack_dual(dual: Tensor) -> tuple[Tensor, Tensor | None]:
    number = level_of(dual)
    if number < 0:
        return _C._unpack_dual(dual)
    primal, tangent = unpack_dual(value_of(dual))
    return make_batched(primal, number), None if tangent is None else wrap_level(tangent, number)


# ---- whole levels ----


def expand_over_samples(t: Tensor, level: Level) -> Tensor:
    """Expand a tensor that is not batched at `level` along a new dimension 0, over the samples."""
    if forward_ad._current_level >= 0:
        primal, tangent = unpack_dual(t)
        part = None if tangent is None else unwrap_level(tangent, level.number)
        if part is not None:
            part = unpack_dual(part)[0]  # a rule that reads a result which is already a dual gives a dual
            return make_dual(primal.unsqueeze(0).expand(level.size, *primal.shape), part)
    return t.unsqueeze(0).expand(level.size, *t.shape)


def batched_like_tangent(t: Tensor, level: Level) -> Tensor:
    """Return `t`, batched at `level` if its tangent is."""
    if level_of(t) == level.number:
        return t
    tangent = unpack_dual(t)[1]
    if tangent is None or unwrap_level(tangent, level.number) is None:
        return t
    return wrap_level(expand_over_samples(t, level), level.number)


def lower(t: Tensor, levels: Sequence[Level]) -> Tensor:
    """Return `t` with the batches of the levels as leading dimensions, outermost first.

    At levels where it is not batched it is expanded, so that derivatives with respect to it differ
    between samples.
    """
    for level in reversed(levels):
        unwrapped = unwrap_level(t, level.number)
        t = expand_over_samples(t, level) if unwrapped is None else unwrapped
    return t


def lift(t: Tensor, levels: Sequence[Level]) -> Tensor:
    """The inverse of lower."""
    for level in levels:
        t = wrap_level(t, level.number)
    return t
