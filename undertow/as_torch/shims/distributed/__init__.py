"""Names of `torch.distributed` that are not in `undertow.distributed`."""

from undertow.as_torch.shims.distributed import checkpoint as checkpoint
from undertow.as_torch.shims.distributed import nn as nn
from undertow.as_torch.shims.distributed import rpc as rpc

__all__ = ["checkpoint", "nn", "rpc"]
