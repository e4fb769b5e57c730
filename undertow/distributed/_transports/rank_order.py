"""Reductions in rank order, made of a transport's copies: for what it cannot reduce itself, and where the order must not depend on it.

Note [Reductions In Rank Order]
Each rank gets one part of every tensor, adds the parts of rank 0, 1, 2 ... in this order, and the reduced parts are gathered. The bytes on
the network are those of a ring (2 (n-1)/n of the tensor for each rank), the result has the same bits on every rank, and it does not depend
on the algorithm that a library chooses for a size. Half types are rounded after each addition, as in torch.
"""

from __future__ import annotations

from undertow.distributed._transports.reduce_ops import reduce_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from undertow import Tensor
    from undertow.distributed._transports.interface import Transport
    from undertow.distributed._transports.reduce_ops import ReduceOp

_ONE_ROUND = 1 << 14  # bytes up to which everything is gathered everywhere


def all_reduce(transport: Transport, tensor: Tensor, op: ReduceOp) -> None:
    """Reduce in place, on all ranks."""
    size, flat = transport.size, tensor.view(-1)
    if tensor.nbytes * size <= _ONE_ROUND:
        rows = tensor.new_empty(size, flat.numel())
        transport.all_gather(rows, flat)
        flat.copy_(reduce_rows(rows, op))
        return
    mine = -(-flat.numel() // size)
    source = flat
    if mine * size != flat.numel():
        source = flat.new_zeros(mine * size)
        source[: flat.numel()] = flat
    total = flat.new_empty(mine)
    reduce_scatter(transport, total, source, op)
    transport.all_gather(source, total)
    if source is not flat:
        flat.copy_(source[: flat.numel()])


def reduce(transport: Transport, tensor: Tensor, source: Tensor, root: int, op: ReduceOp) -> None:
    """Reduce the ranks' `source` into the root's `tensor`."""
    rows = tensor.new_empty(transport.size, tensor.numel()) if transport.rank == root else None
    transport.gather(rows, source, root)
    if rows is not None:
        tensor.copy_(reduce_rows(rows, op).view(tensor.shape))


def reduce_scatter(transport: Transport, output: Tensor, source: Tensor, op: ReduceOp) -> None:
    """Reduce `source`, which has one part for each rank; each rank gets its part."""
    counts = [output.numel()] * transport.size
    rows = output.new_empty(transport.size, output.numel())
    transport.all_to_all(rows, source, counts, counts)
    output.copy_(reduce_rows(rows, op).view(output.shape))
