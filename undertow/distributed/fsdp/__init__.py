"""Parameters, gradients and optimizer state divided among processes: `fully_shard`, with the interface of torch's FSDP2."""

from undertow.distributed.fsdp._fully_shard import FSDPModule, MixedPrecisionPolicy, fully_shard

__all__ = ["FSDPModule", "MixedPrecisionPolicy", "fully_shard"]
