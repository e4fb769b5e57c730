"""Several processes: groups of them, collectives on their tensors, and training that is divided among them, with torch's names.

MPI moves the tensors, through mpi4py, and NCCL those of GPUs; a group of one process needs neither. docs/distributed.md goes from one
process to a cluster. The names are listed in `__init__.pyi` and loaded on first use, because most programs use few of them.
"""

from undertow._lazy import attach_stub as _attach_stub

__getattr__, __dir__, __all__ = _attach_stub(__name__, __file__)
