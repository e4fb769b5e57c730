"""Modules on several devices or processes: what of torch.nn.parallel has a meaning on one."""

from undertow.nn.parallel.data_parallel import DataParallel, data_parallel
from undertow.nn.parallel.distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]
