"""Batching rules of random operators. The innermost vmap's `randomness` applies even if no argument is batched."""

from __future__ import annotations

import undertow
from undertow import _C
from undertow._vmap._dispatch import rule, split
from undertow._vmap._levels import alive, innermost_vmap, outside
from undertow._vmap._pointwise import pad
from undertow._vmap._wrapping import level_of, make_batched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow._vmap._dispatch import Operator
    from undertow._vmap._levels import Level


@rule("random")
def random(op: Operator, _: Level, args: list[Any]) -> Any:
    level = innermost_vmap()
    numbers = [level_of(a) for a in args if isinstance(a, _C.Tensor)]
    if level is None or (numbers and max(numbers) > level.number):
        level = alive.get(max(numbers)) if numbers else None
        if level is None:
            raise RuntimeError(
                "Either your tensor may have escaped from inside a function being vmapped and this is a "
                f"user error, or the vmap has ended: {op.public} got a tensor of a vmap that no longer runs"
            )
    if level.randomness == "error":
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the 'same' "
            "or 'different' randomness flags on vmap or perform the randomness operation out of vmap: "
            f"the operation is {op.public}"
        )
    is_batched = any(split(a, level)[1] for a in args)
    with outside(level):
        if op.inplace:
            return _inplace(op, level, args, is_batched)
        if level.randomness == "same":
            return _same(op, level, args, is_batched)
        return make_batched(_different(op, level, args), level.number)


def _inplace(op: Operator, level: Level, args: list[Any], is_batched: bool) -> None:
    value, owns_samples = split(args[0], level)
    if level.randomness == "different":
        if not owns_samples:
            raise RuntimeError(
                "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will "
                f"appear like same randomness: {op.public} would write all samples to the same memory"
            )
        rest = [pad(split(a, level)[0], args[0].dim() - a.dim()) if split(a, level)[1] else a for a in args[1:]]
        op(value, *rest)
        return
    if not owns_samples:
        op(*args)
        return
    _check_same(op, any(split(a, level)[1] for a in args[1:]))
    one = undertow.empty_like(value.select(0, 0))
    op(one, *args[1:])
    value.copy_(one.expand(value.shape))


def _check_same(op: Operator, depends: bool) -> None:
    if depends:
        raise RuntimeError(
            "Vmap does not currently support same randomness with a batched tensor input. "
            f"{op.public} would draw from a different distribution for each sample"
        )


def _same(op: Operator, level: Level, args: list[Any], is_batched: bool) -> Any:
    if not is_batched:
        return op(*args)
    if not op.key.startswith(("rand_like", "randn_like", "randint_like")):
        _check_same(op, True)
    return op(split(args[0], level)[0].select(0, 0), *args[1:])  # only the shape matters


def _different(op: Operator, level: Level, args: list[Any]) -> Any:
    args = list(args)
    if "size" in op.names:
        at = op.names.index("size")
        args[at] = (level.size, *args[at])
        return op(*args)
    if op.key == "randperm":
        return undertow.stack([op(*args) for _ in range(level.size)]) if level.size else undertow.empty((0, args[0]), dtype=undertow.int64)
    rank = max(a.dim() for a in args if isinstance(a, _C.Tensor))
    values = [_every(a, level, rank) if isinstance(a, _C.Tensor) else a for a in args]
    if op.key != "multinomial":
        return op(*values)
    weights = values[0]
    drawn = op(weights.flatten(0, -2), *values[1:])
    return drawn.reshape(*weights.shape[:-1], drawn.shape[-1])


def _every(a: Any, level: Level, rank: int) -> Any:
    value, is_batched = split(a, level)
    value = value if is_batched else value.unsqueeze(0).expand(level.size, *value.shape)
    return pad(value, rank - a.dim())
