"""Names of `torch.distributed` that are not in `undertow.distributed`. Imports nothing of it: our own modules look here while they load."""

from undertow.as_torch.shims.distributed import rpc as rpc

__all__ = ["rpc"]
