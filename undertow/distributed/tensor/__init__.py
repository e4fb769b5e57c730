"""Tensors that are divided among processes: how they are placed, and the part of one process. There is no DTensor (docs/why.md)."""

from undertow.distributed.tensor._sharded import Sharding, full_tensor, mark, rows_of_rank, sharding_of
from undertow.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

__all__ = ["Partial", "Placement", "Replicate", "Shard", "Sharding", "full_tensor", "mark", "rows_of_rank", "sharding_of"]
