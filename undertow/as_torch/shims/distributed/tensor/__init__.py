"""`torch.distributed.tensor`: the words that say how a tensor is laid over a mesh of devices. There are no such tensors here."""

from undertow.as_torch.shims.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

__all__ = ["Partial", "Placement", "Replicate", "Shard"]
