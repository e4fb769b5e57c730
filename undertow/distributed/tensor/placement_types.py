"""Placements: how a tensor is distributed along one dimension of a device mesh. Plain values, which programs use in tables at import time."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Partial", "Placement", "Replicate", "Shard", "_StridedShard"]


class Placement:
    """Base class of the placements below."""

    def is_shard(self, dim: int | None = None) -> bool:
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """The tensor is split along a dimension, with one piece on each device.

    >>> from undertow.distributed.tensor import Shard
    >>> Shard(0).is_shard(), Shard(0).is_shard(1)
    (True, False)
    """

    dim: int


@dataclass(frozen=True)
class _StridedShard(Shard):
    """The tensor is split along a dimension that another mesh dimension splits first."""

    split_factor: int = 1


@dataclass(frozen=True)
class Replicate(Placement):
    """Each device has the whole tensor."""


@dataclass(frozen=True)
class Partial(Placement):
    """Each device has a partial tensor; the value is their sum or another reduction."""

    reduce_op: str = "sum"
