"""`torch.distributed.tensor`: placements of a tensor on a mesh of devices. There are no distributed tensors."""

from undertow.as_torch.shims.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

__all__ = ["Partial", "Placement", "Replicate", "Shard"]
