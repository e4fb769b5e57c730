"""What moves the bytes of a process group: the interface that each backend implements.

Does not know groups, torch's argument checks, worker threads, streams or strided tensors; _collectives/running.py does. MPI is mpi.py, NCCL is
nccl.py, a group of one process is single.py.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    from undertow import Tensor
    from undertow.distributed._transports.reduce_ops import ReduceOp


class DistError(RuntimeError):
    """An error of undertow.distributed."""


class DistBackendError(DistError):
    """A collective failed: a process is missing, has ended or called something else."""


class DistNetworkError(DistError):
    """A connection failed."""


class DistStoreError(DistError):
    """A store could not answer."""


class QueueEmptyError(DistStoreError):
    """The queue of a store has no element."""


class Pending(ABC):
    """A message on its way."""

    source: int = -1  # rank in the group of the sender of a received message

    @abstractmethod
    def done(self) -> bool:
        """Return True once the tensor may be used again."""

    @abstractmethod
    def wait(self, timeout: float) -> None:
        """Wait until the tensor may be used again; raise DistBackendError after `timeout` seconds."""


class Transport(ABC):
    """The collectives of one group on contiguous tensors.

    A call returns when its tensors may be used by operations that are issued next (on a GPU: to the current stream), or raises
    DistBackendError after `timeout` seconds. One thread calls at a time, except for `send` and `receive`. Ranks and roots are ranks in
    the group.
    """

    rank: int
    size: int
    timeout: float  # seconds
    overlaps: bool  # whether a collective may run while the program computes: in a worker thread, or on a stream
    device: Any  # where its tensors must be; None: anywhere

    @abstractmethod
    def all_reduce(self, tensor: Tensor, op: ReduceOp) -> None:
        """Reduce in place."""

    @abstractmethod
    def reduce(self, tensor: Tensor, root: int, op: ReduceOp) -> None:
        """Reduce into the root's tensor; the others keep theirs."""

    @abstractmethod
    def reduce_scatter(self, output: Tensor, source: Tensor, op: ReduceOp) -> None:
        """Reduce `source`, which has `size` equal parts; each rank gets its part."""

    @abstractmethod
    def broadcast(self, tensor: Tensor, root: int) -> None:
        """Copy the root's tensor to all ranks."""

    @abstractmethod
    def all_gather(self, output: Tensor, source: Tensor) -> None:
        """Concatenate the ranks' tensors."""

    @abstractmethod
    def gather(self, output: Tensor | None, source: Tensor, root: int) -> None:
        """Concatenate the ranks' tensors on the root."""

    @abstractmethod
    def scatter(self, output: Tensor, source: Tensor | None, root: int) -> None:
        """Divide the root's tensor among the ranks."""

    @abstractmethod
    def all_to_all(self, output: Tensor, source: Tensor, output_counts: Sequence[int], source_counts: Sequence[int]) -> None:
        """Send `source_counts[r]` elements to each rank r, and receive `output_counts[r]`."""

    @abstractmethod
    def barrier(self) -> None:
        """Wait for all ranks."""

    @abstractmethod
    def send(self, tensor: Tensor, to: int, tag: int) -> Pending:
        """Start to send a tensor."""

    @abstractmethod
    def receive(self, tensor: Tensor, source: int | None, tag: int) -> Pending:
        """Start to receive a tensor, from any rank if `source` is None."""

    def together(self) -> AbstractContextManager[Any]:
        """Context manager: the messages inside start at its end, as one."""
        return contextlib.nullcontext()

    @abstractmethod
    def subgroup(self, ranks: Sequence[int], number: int) -> Transport:
        """Return the transport of some of the ranks, which includes this one. `number` separates groups of the same ranks."""

    @abstractmethod
    def abort(self, why: str) -> None:
        """End what waits for other ranks, if the transport can; later calls then raise `why`."""

    @abstractmethod
    def close(self) -> None:
        """Release what the transport holds."""
