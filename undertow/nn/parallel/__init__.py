"""Modules on several devices: what of torch.nn.parallel has a meaning on one."""

from undertow.nn.parallel.data_parallel import DataParallel, data_parallel

__all__ = ["DataParallel", "data_parallel"]
