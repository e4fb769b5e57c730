"""The collectives on tensors, with torch's names, arguments and errors. What each does is said once, in its Transport; this file checks and packs."""

from __future__ import annotations

import undertow
from undertow.distributed._collectives.running import check_like, check_list, check_tensor, dense, root_in_group, run, shown, stored
from undertow.distributed._groups.groups import ProcessGroup, chosen, outside
from undertow.distributed._transports.reduce_ops import ReduceOp, check_reduction
from undertow.distributed._transports.work import Work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from undertow import Tensor
    from undertow.distributed._transports.interface import Transport


def _rows(like: Tensor, transport: Transport) -> Tensor:
    """Return memory for one tensor of each rank."""
    return undertow.empty(transport.size, *like.shape, dtype=like.dtype, device=transport.device or like.device)


def _stacked(tensors: Sequence[Tensor], transport: Transport) -> Tensor:
    return undertow.stack([dense(t, transport) for t in tensors])


def _joined(tensors: Sequence[Tensor], transport: Transport) -> Tensor:
    return undertow.cat([dense(t, transport).view(-1) for t in tensors])


def _copied(targets: Sequence[Tensor], values: Iterable[Tensor]) -> None:
    """Copy results into the tensors of the program."""
    for target, value in zip(targets, values):
        target.detach().copy_(value.view(target.shape))


def _parts(flat: Tensor, targets: Sequence[Tensor]) -> Sequence[Tensor]:
    """Return the consecutive parts of a tensor that have the sizes of `targets`."""
    return flat.split([target.numel() for target in targets])


def _check_sizes(large: Tensor, small: Tensor, size: int, call: str) -> None:
    if large.dtype != small.dtype:
        raise TypeError(f"{call}: output tensor must have the same type as input tensor, but got {large.dtype} and {small.dtype}")
    if large.numel() != size * small.numel():
        raise ValueError(f"{call}: one tensor must be {size} (the world size) times the other: got {tuple(large.shape)} and {tuple(small.shape)}")


def _list_of_root(given: list[Tensor] | None, like: Tensor, of: ProcessGroup, root: int, call: str, what: str, role: str) -> list[Tensor]:
    """Return the list of gather or scatter, which the root must give and no other rank; raise torch's error otherwise."""
    if of.rank() != root:
        if given:
            raise ValueError(f"Argument ``{call}_list`` must NOT be specified on non-{role} ranks.")
        return []
    if not given:
        raise ValueError(f"Argument ``{call}_list`` must be specified on {role} rank.")
    check_list(given, f"{what} tensor list", call, of.size())
    check_like(given, like, call)
    return given


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False) -> Work | None:
    """Reduce `tensor` over all processes, in place; the result is on every process."""
    check_tensor(tensor, "tensor")
    if outside(group):
        return None
    of, kind = chosen(group), check_reduction(op, tensor, "all_reduce")

    def job(transport: Transport) -> None:
        value = dense(tensor, transport)
        transport.all_reduce(value, kind)
        stored(tensor, value)

    return run(of, f"all_reduce({shown(tensor)}, {kind.name})", job, [tensor], async_op)


def all_reduce_coalesced(tensors: Sequence[Tensor], op: Any = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False) -> Work | None:
    """Reduce several tensors of one dtype over all processes, in place, as one message."""
    for tensor in tensors:
        check_tensor(tensor, "tensors")
    if outside(group) or not tensors:
        return None
    of, kind = chosen(group), check_reduction(op, tensors[0], "all_reduce_coalesced")
    if any(tensor.dtype != tensors[0].dtype for tensor in tensors):
        raise RuntimeError("ProcessGroupGloo::allreduce_coalesced: tensors must all have the same type")

    def job(transport: Transport) -> None:
        value = _joined(tensors, transport)
        transport.all_reduce(value, kind)
        _copied(tensors, _parts(value, tensors))

    return run(of, f"all_reduce_coalesced({len(tensors)} tensors, {kind.name})", job, tensors, async_op)


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Reduce `tensor` over all processes; the result is on process `dst` only."""
    check_tensor(tensor, "tensor")
    if outside(group):
        return None
    of, kind = chosen(group), check_reduction(op, tensor, "reduce")
    root = root_in_group(of, dst, group_dst, "reduce")

    def job(transport: Transport) -> None:
        value = dense(tensor, transport)
        transport.reduce(value, root, kind)
        if of.rank() == root:
            stored(tensor, value)

    return run(of, f"reduce({shown(tensor)}, {kind.name}, to rank {of.ranks[root]})", job, [tensor], async_op)


def broadcast(
    tensor: Tensor, src: int | None = None, group: ProcessGroup | None = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Copy the tensor of process `src` to `tensor` on every process."""
    check_tensor(tensor, "tensor")
    if outside(group):
        return None
    of = chosen(group)
    root = root_in_group(of, src, group_src, "broadcast")

    def job(transport: Transport) -> None:
        value = dense(tensor, transport)
        transport.broadcast(value, root)
        stored(tensor, value)

    return run(of, f"broadcast({shown(tensor)}, from rank {of.ranks[root]})", job, [tensor], async_op)


def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False) -> Work | None:
    """Gather the tensors of all processes into a list."""
    check_tensor(tensor, "tensor")
    if outside(group):
        return None
    of = chosen(group)
    check_list(tensor_list, "output tensor list", "allgather", of.size())
    check_like(tensor_list, tensor, "allgather")

    def job(transport: Transport) -> None:
        rows = _rows(tensor, transport)
        transport.all_gather(rows, dense(tensor, transport))
        _copied(tensor_list, rows)

    return run(of, f"all_gather({shown(tensor)})", job, tensor_list, async_op, [tensor])


def all_gather_into_tensor(output_tensor: Tensor, input_tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False) -> Work | None:
    """Gather the tensors of all processes, concatenated into one tensor."""
    check_tensor(input_tensor, "input_tensor")
    check_tensor(output_tensor, "output_tensor")
    if outside(group):
        return None
    of = chosen(group)
    _check_sizes(output_tensor, input_tensor, of.size(), "all_gather_into_tensor")

    def job(transport: Transport) -> None:
        value = dense(output_tensor, transport)
        transport.all_gather(value, dense(input_tensor, transport))
        stored(output_tensor, value)

    return run(of, f"all_gather_into_tensor({shown(input_tensor)})", job, [output_tensor], async_op, [input_tensor])


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Gather the tensors of all processes on process `dst`."""
    check_tensor(tensor, "tensor")
    if outside(group):
        return None
    of = chosen(group)
    root = root_in_group(of, dst, group_dst, "gather")
    targets = _list_of_root(gather_list, tensor, of, root, "gather", "output", "destination")

    def job(transport: Transport) -> None:
        rows = _rows(tensor, transport) if targets else None
        transport.gather(rows, dense(tensor, transport), root)
        _copied(targets, rows if rows is not None else ())

    return run(of, f"gather({shown(tensor)}, to rank {of.ranks[root]})", job, targets, async_op, [tensor])


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Scatter the list of process `src`: each process gets its tensor."""
    check_tensor(tensor, "tensor")
    if outside(group):
        return None
    of = chosen(group)
    root = root_in_group(of, src, group_src, "scatter")
    sources = _list_of_root(scatter_list, tensor, of, root, "scatter", "input", "source")

    def job(transport: Transport) -> None:
        value = dense(tensor, transport)
        transport.scatter(value, _stacked(sources, transport) if sources else None, root)
        stored(tensor, value)

    return run(of, f"scatter({shown(tensor)}, from rank {of.ranks[root]})", job, [tensor], async_op, sources)


def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: Any = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Reduce lists of tensors over all processes, and scatter the results."""
    check_tensor(output, "output")
    if outside(group):
        return None
    of, kind = chosen(group), check_reduction(op, output, "reduce_scatter")
    check_list(input_list, "input tensor list", "reduce_scatter", of.size())
    check_like(input_list, output, "reduce_scatter")

    def job(transport: Transport) -> None:
        value = dense(output, transport)
        transport.reduce_scatter(value, _stacked(input_list, transport), kind)
        stored(output, value)

    return run(of, f"reduce_scatter({shown(output)}, {kind.name})", job, [output], async_op, input_list)


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Reduce a tensor over all processes, and scatter its parts."""
    check_tensor(output, "output")
    check_tensor(input, "input")
    if outside(group):
        return None
    of, kind = chosen(group), check_reduction(op, input, "reduce_scatter_tensor")
    _check_sizes(input, output, of.size(), "reduce_scatter_tensor")

    def job(transport: Transport) -> None:
        value = dense(output, transport)
        transport.reduce_scatter(value, dense(input, transport), kind)
        stored(output, value)

    return run(of, f"reduce_scatter_tensor({shown(output)}, {kind.name})", job, [output], async_op, [input])


def all_to_all(
    output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Send one tensor from every process to every process. Their sizes may differ."""
    if outside(group):
        return None
    of = chosen(group)
    check_list(output_tensor_list, "output tensor list", "alltoall", of.size())
    check_list(input_tensor_list, "input tensor list", "alltoall", of.size())
    if len({t.dtype for t in (*output_tensor_list, *input_tensor_list)}) != 1:
        raise RuntimeError("ProcessGroupGloo::alltoall: invalid tensor type: all tensors must have the same dtype")

    def job(transport: Transport) -> None:
        sent = _joined(input_tensor_list, transport)
        sizes = [t.numel() for t in output_tensor_list]
        received = sent.new_empty(sum(sizes))
        transport.all_to_all(received, sent, sizes, [t.numel() for t in input_tensor_list])
        _copied(output_tensor_list, _parts(received, output_tensor_list))

    return run(of, "all_to_all", job, output_tensor_list, async_op, input_tensor_list)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Send a part of one tensor from every process to every process, divided along its first dimension."""
    check_tensor(output, "output")
    check_tensor(input, "input")
    if outside(group):
        return None
    of = chosen(group)
    if output.dtype != input.dtype:
        raise RuntimeError(f"all_to_all_single: output is {output.dtype}, but input is {input.dtype}")
    output_counts, input_counts = _counts(output, output_split_sizes, of.size()), _counts(input, input_split_sizes, of.size())

    def job(transport: Transport) -> None:
        value = dense(output, transport)
        transport.all_to_all(value, dense(input, transport), output_counts, input_counts)
        stored(output, value)

    return run(of, "all_to_all_single", job, [output], async_op, [input])


def _counts(tensor: Tensor, sizes: list[int] | None, parts: int) -> list[int]:
    """Return the number of elements for each rank, from the sizes along the first dimension."""
    rows = tensor.size(0)
    if not sizes:
        if rows % parts:
            raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
        sizes = [rows // parts] * parts
    if len(sizes) != parts or sum(sizes) != rows or min(sizes) < 0:
        raise RuntimeError("Split sizes doesn't match total dim 0 size")
    return [size * (tensor.numel() // max(rows, 1)) for size in sizes]


def barrier(group: ProcessGroup | None = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Wait until all processes reach the barrier; with NCCL, until their collectives before it are done."""
    if outside(group):
        return None
    of = chosen(group)
    return run(of, "barrier", _barrier, [], async_op, link=of.links.gpu if of.name() == "nccl" else None)


def _barrier(transport: Transport) -> None:
    transport.barrier()


# torch's newer names
all_gather_single = all_gather_into_tensor
reduce_scatter_single = reduce_scatter_tensor
