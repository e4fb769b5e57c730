"""`torch.distributed.checkpoint`: state dicts by names, for a group of one process. Files of several processes are not read or written."""

from undertow.as_torch.shims.distributed.checkpoint import state_dict as state_dict

__all__ = ["state_dict"]
