"""The transport of a group of one process: sums have one term, gathered tensors one part. Needs no MPI."""

from __future__ import annotations

from undertow.distributed._transports.interface import Pending, Transport
from undertow.distributed._transports.reduce_ops import before

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from undertow import Tensor
    from undertow.distributed._transports.reduce_ops import ReduceOp


class SingleTransport(Transport):
    """Collectives of one process."""

    rank, size, overlaps, device = 0, 1, False, None

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout

    def all_reduce(self, tensor: Tensor, op: ReduceOp) -> None:
        tensor.copy_(before(op, tensor))

    def reduce(self, tensor: Tensor, root: int, op: ReduceOp) -> None:
        self.all_reduce(tensor, op)

    def reduce_scatter(self, output: Tensor, source: Tensor, op: ReduceOp) -> None:
        output.copy_(before(op, source).view(output.shape))

    def broadcast(self, tensor: Tensor, root: int) -> None:
        pass

    def all_gather(self, output: Tensor, source: Tensor) -> None:
        output.copy_(source.view(output.shape))

    def gather(self, output: Tensor | None, source: Tensor, root: int) -> None:
        assert output is not None
        self.all_gather(output, source)

    def scatter(self, output: Tensor, source: Tensor | None, root: int) -> None:
        assert source is not None
        self.all_gather(output, source)

    def all_to_all(self, output: Tensor, source: Tensor, output_counts: Sequence[int], source_counts: Sequence[int]) -> None:
        self.all_gather(output, source)

    def barrier(self) -> None:
        pass

    def send(self, tensor: Tensor, to: int, tag: int) -> Pending:
        raise ValueError("Invalid destination rank: destination rank should not be the same as the rank of the current process.")

    def receive(self, tensor: Tensor, source: int | None, tag: int) -> Pending:
        raise ValueError("Invalid source rank: source rank should not be the same as the rank of the current process.")

    def subgroup(self, ranks: Sequence[int], number: int) -> Transport:
        return SingleTransport(self.timeout)

    def abort(self, why: str) -> None:
        pass

    def close(self) -> None:
        pass
