"""The transport over NCCL: the collectives of one group on tensors of one GPU, issued to the current stream.

stream_queue.py chooses the stream, and notices collectives that do not end. What NCCL cannot reduce is moved by it and reduced here; see
Note [Reductions In Rank Order].
"""

from __future__ import annotations

import contextlib
import threading

import undertow
from undertow import cuda
from undertow.cuda._library import functions
from undertow.distributed._transports import nccl_library, rank_order
from undertow.distributed._transports.interface import DistBackendError, Pending, Transport
from undertow.distributed._transports.reduce_ops import ReduceOp, after, before, deterministic, summed_as

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from undertow import Tensor

    Exchange = Callable[[str, bytes | None], bytes]

_ANY_OF, _ALL_OF = (ReduceOp.SUM, ReduceOp.MAX, ReduceOp.BOR), (ReduceOp.PRODUCT, ReduceOp.MIN, ReduceOp.BAND)


class _Issued(Pending):
    """A message on the stream: operations that are issued next come after it."""

    def done(self) -> bool:
        return True

    def wait(self, timeout: float) -> None:
        pass


class NcclTransport(Transport):
    """Collectives on one communicator, which is made at the first one, on the GPU of its tensors."""

    overlaps = True

    def __init__(self, rank: int, size: int, timeout: float, ranks: list[int], name: str, exchange: Exchange) -> None:
        self.rank, self.size, self.timeout, self.ranks, self.name = rank, size, timeout, ranks, name
        self._exchange = exchange
        self._nccl = nccl_library.library()
        self._communicator: Any = None
        self._index = -1  # of the communicator's GPU
        self.failure = ""

    @property
    def device(self) -> Any:
        """The GPU of the group: the current one, until the first collective."""
        return undertow.device("cuda", self._index if self._index >= 0 else cuda.current_device())

    # The communicator

    def _call(self, name: str, tensor: Tensor, *args: Any) -> None:
        """Issue a function of NCCL to the current stream of the tensor's GPU."""
        communicator = self._joined(tensor.get_device())
        self._nccl.call(name, *args, communicator, functions().current_stream(self._index))

    def _joined(self, index: int) -> Any:
        if self.failure:
            raise DistBackendError(self.failure)
        if self._communicator is None:
            self._index = index
            self._communicator = self._join()
        elif index != self._index:
            raise ValueError(
                f"NCCL: the group's communicator is on cuda:{self._index}, but a tensor is on cuda:{index}; call cuda.set_device(local rank)"
            )
        return self._communicator

    def _join(self) -> Any:
        """Wait for all ranks, in a thread, because NCCL has no timeout."""
        unique_id = self._exchange(self.name, self._nccl.unique_id() if self.rank == 0 else None)
        made: list[Any] = []
        failed: list[BaseException] = []

        def join() -> None:
            try:
                with cuda.device(self._index):
                    cuda.synchronize()  # makes the GPU's context current in this thread
                    made.append(self._nccl.join(unique_id, self.rank, self.size))
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=join, name="undertow-nccl-join", daemon=True)
        thread.start()
        thread.join(self.timeout)
        if failed:
            raise failed[0]
        if not made:
            self.failure = (
                f"NCCL: timed out after {self.timeout * 1000:.0f}ms waiting for all {self.size} ranks of the group to call their first collective"
            )
            raise DistBackendError(self.failure)
        return made[0]

    def failed_in_background(self) -> str:
        """Return the error that NCCL met since the last call, or an empty text."""
        return self._nccl.failure_of(self._communicator) if self._communicator is not None else ""

    def abort(self, why: str) -> None:
        """End everything that waits for other ranks; later calls raise `why`."""
        self.failure = why
        communicator, self._communicator = self._communicator, None
        if communicator is not None:
            self._nccl.call("ncclCommAbort", communicator)

    def close(self) -> None:
        communicator, self._communicator = self._communicator, None
        self.failure = self.failure or "NCCL: the group has been destroyed"
        if communicator is not None:
            with cuda.device(self._index):
                cuda.synchronize()
                self._nccl.call("ncclCommDestroy", communicator)

    # Reductions

    def _kind(self, tensor: Tensor, op: ReduceOp) -> tuple[int, int, int] | None:
        """Return NCCL's numbers of the dtype and the reduction, and the number of elements; None if NCCL cannot do it."""
        dtype, count = tensor.dtype, tensor.numel()
        if deterministic() and (tensor.is_floating_point() or tensor.is_complex()):
            return None
        if dtype == undertow.bool:
            logical = 2 if op in _ANY_OF else 3 if op in _ALL_OF else None
            return None if logical is None else (nccl_library.BYTES, logical, count)
        if tensor.is_complex() and op == ReduceOp.SUM:
            dtype, count = dtype.to_real(), 2 * count
        known, number = self._nccl.dtypes.get(dtype), nccl_library.OPS.get(op)
        return None if known is None or number is None else (known, number, count)

    def all_reduce(self, tensor: Tensor, op: ReduceOp) -> None:
        source = before(op, tensor)
        if source is not tensor:
            tensor.copy_(source)
        kind = self._kind(tensor, summed_as(op))
        if kind is not None:
            self._call("ncclAllReduce", tensor, tensor.data_ptr(), tensor.data_ptr(), kind[2], kind[0], kind[1])
        else:
            rank_order.all_reduce(self, tensor, summed_as(op))
        after(op, tensor, self.size)

    def reduce(self, tensor: Tensor, root: int, op: ReduceOp) -> None:
        source = before(op, tensor)
        kind = self._kind(tensor, summed_as(op))
        if kind is not None:
            self._call("ncclReduce", tensor, source.data_ptr(), tensor.data_ptr(), kind[2], kind[0], kind[1], root)
        else:
            rank_order.reduce(self, tensor, source, root, summed_as(op))
        if self.rank == root:
            after(op, tensor, self.size)

    def reduce_scatter(self, output: Tensor, source: Tensor, op: ReduceOp) -> None:
        source = before(op, source)
        kind = self._kind(output, summed_as(op))
        if kind is not None:
            self._call("ncclReduceScatter", output, source.data_ptr(), output.data_ptr(), kind[2], kind[0], kind[1])
        else:
            rank_order.reduce_scatter(self, output, source, summed_as(op))
        after(op, output, self.size)

    # Copies, of bytes

    def broadcast(self, tensor: Tensor, root: int) -> None:
        self._call("ncclBroadcast", tensor, tensor.data_ptr(), tensor.data_ptr(), tensor.nbytes, nccl_library.BYTES, root)

    def all_gather(self, output: Tensor, source: Tensor) -> None:
        self._call("ncclAllGather", source, source.data_ptr(), output.data_ptr(), source.nbytes, nccl_library.BYTES)

    def gather(self, output: Tensor | None, source: Tensor, root: int) -> None:
        counts = [source.numel() if r == root else 0 for r in range(self.size)]
        received = source.new_empty(0) if output is None else output
        self.all_to_all(received, source, [0 if output is None else source.numel()] * self.size, counts)

    def scatter(self, output: Tensor, source: Tensor | None, root: int) -> None:
        counts = [output.numel() if r == root else 0 for r in range(self.size)]
        sent = output.new_empty(0) if source is None else source
        self.all_to_all(output, sent, counts, [0 if source is None else output.numel()] * self.size)

    def all_to_all(self, output: Tensor, source: Tensor, output_counts: Sequence[int], source_counts: Sequence[int]) -> None:
        width, sent, received = source.element_size(), source.data_ptr(), output.data_ptr()
        self._joined(output.get_device())
        with self.together():
            for rank in range(self.size):
                if source_counts[rank]:
                    self._call("ncclSend", source, sent, source_counts[rank] * width, nccl_library.BYTES, rank)
                if output_counts[rank]:
                    self._call("ncclRecv", output, received, output_counts[rank] * width, nccl_library.BYTES, rank)
                sent += source_counts[rank] * width
                received += output_counts[rank] * width

    def barrier(self) -> None:
        token = undertow.zeros(1, device=self.device)
        self.all_reduce(token, ReduceOp.SUM)
        token.tolist()

    # Messages. NCCL has no tags: messages between two ranks arrive in the order in which they were sent.

    def send(self, tensor: Tensor, to: int, tag: int) -> Pending:
        self._call("ncclSend", tensor, tensor.data_ptr(), tensor.nbytes, nccl_library.BYTES, to)
        return _Issued()

    def receive(self, tensor: Tensor, source: int | None, tag: int) -> Pending:
        if source is None:
            raise ValueError("recv: NCCL cannot receive from any rank; name the source")
        self._call("ncclRecv", tensor, tensor.data_ptr(), tensor.nbytes, nccl_library.BYTES, source)
        issued = _Issued()
        issued.source = source
        return issued

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        self._nccl.call("ncclGroupStart")
        try:
            yield
        finally:
            self._nccl.call("ncclGroupEnd")

    def subgroup(self, ranks: Sequence[int], number: int) -> Transport:
        members = [self.ranks[r] for r in ranks]
        name = f"{'.'.join(map(str, members))}/{number}"
        return NcclTransport(ranks.index(self.rank), len(ranks), self.timeout, members, name, self._exchange)
