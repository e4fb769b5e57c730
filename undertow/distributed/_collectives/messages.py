"""Messages between two processes: send, recv, isend, irecv, batches of them, and a barrier that names the missing ranks."""

from __future__ import annotations

import time

import undertow
from undertow.distributed._collectives.running import check_tensor, dense, shown, stored
from undertow.distributed._groups.groups import ProcessGroup, chosen, default_group, get_group_rank, outside
from undertow.distributed._processes import process
from undertow.distributed._transports.interface import DistBackendError
from undertow.distributed._transports.work import Work, seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from undertow import Tensor
    from undertow.distributed._groups.links import Link
    from undertow.distributed._transports.interface import Transport

_BARRIER_TAG = 0  # number of one of the transport's own tags
_LATER = 10.0  # seconds that the other ranks wait longer than rank 0, so that it is the one that names the missing
_unfinished: list[Work] = []  # messages whose handle a program may have dropped; their memory must stay


def _keep(work: Work) -> Work:
    _unfinished[:] = [old for old in _unfinished if not old.is_completed()]
    _unfinished.append(work)
    return work


def _peer(group: ProcessGroup, rank: int | None, group_rank: int | None, what: str) -> int:
    """Return a peer's rank in the group."""
    if rank is not None and group_rank is not None:
        raise ValueError(f"Can't specify both group_{what} and {what}")
    if group_rank is None:
        if rank is None:
            raise ValueError(f"Must specify {what} or group_{what}")
        group_rank = get_group_rank(group, rank)
    if not 0 <= group_rank < group.size():
        raise ValueError(f"rank {group_rank} is not in the group, which has {group.size()} processes")
    if group_rank == group.rank():
        place = "destination" if what == "dst" else "source"
        raise ValueError(f"Invalid {place} rank: {place} rank should not be the same as the rank of the current process.")
    return group_rank


def isend(tensor: Tensor, dst: int | None = None, group: ProcessGroup | None = None, tag: int = 0, group_dst: int | None = None) -> Work | None:
    """Start to send a tensor to process `dst`; `wait` returns when the tensor may be changed."""
    check_tensor(tensor, "tensor")
    if outside(group):
        return None
    of = chosen(group)
    to = _peer(of, dst, group_dst, "dst")
    process.began(f"send({shown(tensor)}, to rank {of.ranks[to]})")
    link = of.links.of([tensor])
    if link is of.links.gpu:
        return link.queue.start(lambda: link.transport.send(dense(tensor, link.transport), to, tag), [tensor])
    work = Work([tensor], link.transport.send(dense(tensor, link.transport), to, tag))
    work._timeout = link.transport.timeout
    return _keep(work)


def irecv(tensor: Tensor, src: int | None = None, group: ProcessGroup | None = None, tag: int = 0, group_src: int | None = None) -> Work | None:
    """Start to receive a tensor from process `src`, or from any process; `wait` returns when it is there."""
    check_tensor(tensor, "tensor")
    if outside(group):
        return None
    of = chosen(group)
    origin = None if src is None and group_src is None else _peer(of, src, group_src, "src")
    process.began(f"recv({shown(tensor)}, from {'any rank' if origin is None else f'rank {of.ranks[origin]}'})")
    link = of.links.of([tensor])
    if link is of.links.gpu:
        work = link.queue.start(lambda: _received(tensor, origin, tag, link.transport), [tensor])
        work._source = lambda _: of.ranks[origin or 0]
        return work
    value = dense(tensor, link.transport)
    work = Work([tensor], link.transport.receive(value, origin, tag), lambda found: of.ranks[found])
    work._timeout = link.transport.timeout
    work._completed = lambda: stored(tensor, value)
    return _keep(work)


def _received(tensor: Tensor, origin: int | None, tag: int, transport: Transport) -> None:
    value = dense(tensor, transport)
    transport.receive(value, origin, tag)
    stored(tensor, value)


def send(tensor: Tensor, dst: int | None = None, group: ProcessGroup | None = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Send a tensor to process `dst`."""
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        _waited(work)


def recv(tensor: Tensor, src: int | None = None, group: ProcessGroup | None = None, tag: int = 0, group_src: int | None = None) -> int:
    """Receive a tensor from process `src`, or from any process; return the sender's rank."""
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    _waited(work)
    return work.source_rank()


def _waited(work: Work) -> None:
    try:
        work.wait()
    except DistBackendError:
        process.broke()
        raise


class P2POp:
    """One message of `batch_isend_irecv`: `op` is isend or irecv."""

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: Tensor,
        peer: int | None = None,
        group: ProcessGroup | None = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError("Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or ``torch.distributed.irecv``.")
        check_tensor(tensor, "tensor")
        self.op, self.tensor, self.peer, self.group, self.tag, self.group_peer = op, tensor, peer, group, tag, group_peer


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Start several messages, in any order; return their handles. With NCCL they are one operation, with one handle."""
    if not isinstance(p2p_op_list, (list, tuple)) or not all(isinstance(p, P2POp) for p in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.")
    if p2p_op_list and not outside(p2p_op_list[0].group):
        of = chosen(p2p_op_list[0].group)
        link = of.links.of([p.tensor for p in p2p_op_list])
        if link is of.links.gpu:
            return [_batch_on_gpu(p2p_op_list, of, link)]
    ordered = sorted(p2p_op_list, key=lambda p: p.op is not irecv)  # receivers first, so that MPI need not buffer
    started = {id(p): p.op(p.tensor, p.peer, p.group, p.tag, p.group_peer) for p in ordered}
    return [work for p in p2p_op_list if (work := started[id(p)]) is not None]


def _batch_on_gpu(messages: Sequence[P2POp], of: ProcessGroup, link: Link) -> Work:
    transport = link.transport
    process.began(f"batch_isend_irecv({len(messages)} messages)")

    def job() -> None:
        values = [dense(p.tensor, transport) for p in messages]
        with transport.together():
            for p, value in zip(messages, values):
                if p.op is isend:
                    transport.send(value, _peer(of, p.peer, p.group_peer, "dst"), p.tag)
                else:
                    transport.receive(value, _peer(of, p.peer, p.group_peer, "src"), p.tag)
        for p, value in zip(messages, values):
            if p.op is irecv:
                stored(p.tensor, value)

    return link.queue.start(job, [p.tensor for p in messages])


def monitored_barrier(group: ProcessGroup | None = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """Wait like `barrier`; rank 0 raises with the ranks that do not arrive in time: the first, or all if `wait_all_ranks` is True."""
    if outside(group):
        return
    of = chosen(group)
    host = of.links.host
    limit = seconds(timeout) if timeout is not None else host.transport.timeout
    if of.size() == 1:
        return
    if host is of.links.gpu:
        raise ValueError("monitored_barrier is only implemented for GLOO backend; here it needs MPI")
    process.began("monitored_barrier")
    host.queue.run(lambda: _monitored(of, limit or 0.0, wait_all_ranks))


def _monitored(of: ProcessGroup, limit: float, wait_all_ranks: bool) -> None:
    transport: Any = of.links.host.transport
    tag = transport.own_tag(_BARRIER_TAG)
    token = undertow.zeros(1, dtype=undertow.uint8)
    if of.rank() != 0:
        try:
            transport.send(token, 0, tag).wait(limit + _LATER)
            transport.receive(token, 0, tag).wait(limit + _LATER)
        except DistBackendError as error:
            process.broke()
            here = of.ranks[of.rank()]
            raise DistBackendError(f"Rank {here} successfully reached monitoredBarrier, but rank {of.ranks[0]} did not answer: {error}") from None
        return
    end = time.monotonic() + limit
    arrivals = {rank: transport.receive(undertow.zeros(1, dtype=undertow.uint8), rank, tag) for rank in range(1, of.size())}
    missing, why = [], ""
    for rank, message in arrivals.items():
        try:
            message.wait(max(end - time.monotonic(), 0.0))
        except DistBackendError as error:
            missing.append(of.ranks[rank])
            why = str(error)
            if not wait_all_ranks:
                break
    if missing:
        process.broke()
        named = ", ".join(str(rank) for rank in missing)
        raise DistBackendError(
            f"Rank {of.ranks[0]} timed out in monitoredBarrier after {limit * 1000:.0f} ms: "
            f"[Rank {of.ranks[0]}]: Ranks {named} failed to pass monitoredBarrier in {limit * 1000:.0f} ms. {why}"
        )
    for rank in arrivals:
        transport.send(token, rank, tag).wait(limit)


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: ProcessGroup | None = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send picklable objects to process `dst`."""
    from undertow.distributed._collectives.objects import packed

    data = packed(list(object_list))
    send(undertow.tensor([data.numel()]), dst, group, 0, group_dst)
    send(data, dst, group, 0, group_dst)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: ProcessGroup | None = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Receive objects into `object_list` from process `src`, or from any process; return the sender's rank."""
    from undertow.distributed._collectives.objects import unpacked

    length = undertow.zeros(1, dtype=undertow.int64)
    origin = recv(length, src, group, 0, group_src)
    if origin < 0:
        return origin
    of = group if group is not None else default_group()
    data = undertow.empty(int(length), dtype=undertow.uint8)
    recv(data, origin, of, 0)
    object_list[:] = unpacked(data)
    return origin
