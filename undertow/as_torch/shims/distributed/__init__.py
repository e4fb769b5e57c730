"""Names of `torch.distributed` that are not in `undertow.distributed`."""

from undertow.as_torch.shims.distributed import checkpoint as checkpoint
from undertow.as_torch.shims.distributed import distributed_c10d as distributed_c10d
from undertow.as_torch.shims.distributed import rpc as rpc
from undertow.as_torch.shims.distributed.distributed_c10d import reduce_op, supports_complex

__all__ = ["checkpoint", "distributed_c10d", "reduce_op", "rpc", "supports_complex"]
