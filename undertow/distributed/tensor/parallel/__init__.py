"""Tensor parallelism: layers whose weights are divided among processes, by a plan of names and styles."""

from undertow.distributed.tensor.parallel._styles import ColwiseParallel, ParallelStyle, RowwiseParallel, parallelize_module

__all__ = ["ColwiseParallel", "ParallelStyle", "RowwiseParallel", "parallelize_module"]
