"""The parts of torch.nn.parallel that are meaningful with one device and one process."""

from undertow.nn.parallel.data_parallel import DataParallel, data_parallel
from undertow.nn.parallel.distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]
