"""Placements: how one dimension of a mesh holds a tensor. Plain values, which programs put into tables when they are imported."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Partial", "Placement", "Replicate", "Shard", "_StridedShard"]


class Placement:
    """One of the classes below."""

    def is_shard(self, dim: int | None = None) -> bool:
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Cut along a dimension of the tensor, a piece on each device.

    >>> from undertow.as_torch.shims.distributed.tensor import Shard
    >>> Shard(0).is_shard(), Shard(0).is_shard(1)
    (True, False)
    """

    dim: int


@dataclass(frozen=True)
class _StridedShard(Shard):
    """Cut along a dimension that another dimension of the mesh cuts first."""

    split_factor: int = 1


@dataclass(frozen=True)
class Replicate(Placement):
    """The whole tensor on each device."""


@dataclass(frozen=True)
class Partial(Placement):
    """A tensor on each device, of which the whole is the sum, or another reduction."""

    reduce_op: str = "sum"
