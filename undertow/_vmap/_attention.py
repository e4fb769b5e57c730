"""Batching rules of attention: vmap's batch is merged into the existing batch dimension."""

from __future__ import annotations

from undertow._vmap._dispatch import batched, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor
    from undertow._vmap._dispatch import Operator
    from undertow._vmap._levels import Level


def _joined(t: Tensor, level: Level) -> Tensor:
    return batched(t, level).flatten(0, 1)


def _joined_mask(mask: Tensor | None, batch: int, level: Level) -> Tensor | None:
    if mask is None:
        return None
    value = batched(mask, level)
    while value.dim() < 5:
        value = value.unsqueeze(1)
    return value.expand(level.size, batch, *value.shape[2:]).flatten(0, 1)


def _parted(results: Any, level: Level) -> list[Tensor]:
    return [r.unflatten(0, (level.size, r.shape[0] // level.size)) for r in results]


@rule("attention")
def attention(op: Operator, level: Level, args: list[Any]) -> Any:
    query, key, value, dropout, causal, mask, scale = args
    joined = [_joined(t, level) for t in (query, key, value)]
    return _parted(op(*joined, dropout, causal, _joined_mask(mask, query.shape[0], level), scale), level)


@rule("attention_backward")
def attention_backward(op: Operator, level: Level, args: list[Any]) -> Any:
    *tensors, causal, mask, scale = args
    joined = [_joined(t, level) for t in tensors]
    return _parted(op(*joined, causal, _joined_mask(mask, tensors[1].shape[0], level), scale), level)
