"""The transport over MPI, through mpi4py: tensors' memory is given to MPI as it is.

Every call is MPI's nonblocking one followed by `_Waiter.wait`, which polls: that gives timeouts, notices processes that died, and lets
other processes run where there are more ranks than cores. What MPI cannot reduce (half types, rank order) is moved by MPI and reduced
in rank order; see Note [Reductions In Rank Order].
"""

from __future__ import annotations

import os
import time
import zlib

import undertow
from undertow.distributed._processes import status
from undertow.distributed._transports import rank_order
from undertow.distributed._transports.interface import DistBackendError, Pending, Transport
from undertow.distributed._transports.reduce_ops import ReduceOp, after, before, deterministic, summed_as

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from undertow import Tensor

_FIRST = 20  # first polls, without a clock: short messages need no more
_SPINS = 100  # later polls in a row that move nothing, before each next one yields the core to another rank
_PATIENCE = 300  # such polls before the thread sleeps
_AFTER_SLEEP = 10  # such polls before it sleeps again
_SHORTEST, _LONGEST = 2e-5, 1e-3  # seconds of a sleep
_MOVED = 4.0  # a poll that takes so many times the shortest one has moved data
_CHECK_EVERY = 0.2  # seconds between looks at the other processes
_OWN_TAGS = 1000  # the highest tags are ours: new groups, barriers that name missing ranks


class Waiter:
    """Waits for requests of one group, with its timeout, and explains why one does not complete."""

    def __init__(self, ranks: list[int], records: status.Records | None) -> None:
        self.ranks, self._records = ranks, records

    def wait(self, request: Any, timeout: float) -> None:
        """Return when `request` is complete; raise if a process of the group is gone, or after `timeout` seconds.

        MPI moves data only while it is polled: 32 kB at a time between processes of one machine. So the thread sleeps only where
        nothing arrives, because another rank is late.
        """
        test = request.Test
        for _ in range(_FIRST):
            if test():
                return
        if self._poll(request, _PATIENCE):
            return
        begin = now = time.monotonic()
        look, gone_since, step = now + _CHECK_EVERY, 0.0, _SHORTEST
        while True:
            time.sleep(step)
            if self._poll(request, _AFTER_SLEEP):
                return
            step = min(2 * step, _LONGEST)
            now = time.monotonic()
            if now >= look:
                look = now + _CHECK_EVERY
                gone = self._records.missing(self.ranks) if self._records else []
                gone_since = (gone_since or now) if gone else 0.0
                if gone and now - gone_since > status.GRACE:
                    raise DistBackendError(status.story(self._records, self.ranks, f"stopped waiting after {now - begin:.1f} s", gone))
            if now - begin > timeout:
                late = self._records.behind(self.ranks) if self._records else []
                what = f"Timed out waiting {timeout * 1000:.0f}ms for the operation to complete"
                raise DistBackendError(status.story(self._records, self.ranks, what, late))

    def _poll(self, request: Any, patience: int) -> bool:
        """Poll until `request` is complete, then return True; False after `patience` polls in a row that moved nothing.

        A poll that moves data takes more of this thread's CPU time, which does not count waiting for the interpreter's lock.
        """
        test, clock, idle, shortest = request.Test, time.thread_time, 0, 1.0
        end = time.monotonic() + _CHECK_EVERY
        while idle < patience and (idle or time.monotonic() < end):
            if idle > _SPINS:
                os.sched_yield()
            begin = clock()
            if test():
                return True
            took = clock() - begin
            shortest = min(shortest, took)
            if took > _MOVED * shortest:
                idle, patience = 0, _PATIENCE
            else:
                idle += 1
        return False


class _Message(Pending):
    def __init__(self, request: Any, waiter: Waiter, status: Any, tensor: Tensor) -> None:
        self._request, self._waiter, self._status, self._tensor = request, waiter, status, tensor
        self._finished = False

    def done(self) -> bool:
        if not self._finished and self._request.Test(self._status):
            self.source, self._finished = self._status.Get_source(), True  # MPI tells the source once
        return self._finished

    def wait(self, timeout: float) -> None:
        if not self.done():
            self._waiter.wait(_Tested(self), timeout)


class _Tested:
    """A message in the form that Waiter polls."""

    def __init__(self, message: _Message) -> None:
        self.Test = message.done


class MpiTransport(Transport):
    """Collectives on one communicator, which it owns."""

    device = undertow.device("cpu")

    def __init__(self, mpi: Any, communicator: Any, timeout: float, records: status.Records | None, ranks: list[int]) -> None:
        self._mpi, self._comm, self._records = mpi, communicator, records
        self.rank, self.size, self.timeout = communicator.Get_rank(), communicator.Get_size(), timeout
        self.overlaps = mpi.Query_thread() == mpi.THREAD_MULTIPLE
        self._waiter = Waiter(ranks, records)
        self._types, self._ops, self._logical_ops = _datatypes(mpi), _ops(mpi), _logical_ops(mpi)
        self._highest_tag = communicator.Get_attr(mpi.TAG_UB) or 32767

    # Buffers and waiting

    def _whole(self, tensor: Tensor) -> list[Any]:
        """Return the tensor as memory and type of its elements; mpi4py derives counts, also of equal parts."""
        return [self._memory(tensor), self._types[tensor.dtype]]

    def _parts(self, tensor: Tensor, counts: Sequence[int]) -> list[Any]:
        """Return the tensor as consecutive parts of `counts` elements."""
        kind = self._types[tensor.dtype]
        if kind is self._mpi.BYTE:
            counts = [count * tensor.element_size() for count in counts]
        starts = [sum(counts[:r]) for r in range(len(counts))]
        return [self._memory(tensor), (list(counts), starts), kind]

    def _memory(self, tensor: Tensor) -> Any:
        return self._mpi.buffer.fromaddress(tensor.data_ptr(), tensor.nbytes)

    def _finish(self, request: Any) -> None:
        self._waiter.wait(request, self.timeout)

    # Reductions

    def all_reduce(self, tensor: Tensor, op: ReduceOp) -> None:
        source = before(op, tensor)
        if source is not tensor:
            tensor.copy_(source)
        native = self._native(tensor, op)
        if native is not None:
            self._finish(self._comm.Iallreduce(self._mpi.IN_PLACE, self._whole(tensor), native))
        else:
            rank_order.all_reduce(self, tensor, summed_as(op))
        after(op, tensor, self.size)

    def reduce(self, tensor: Tensor, root: int, op: ReduceOp) -> None:
        source = before(op, tensor)
        native = self._native(tensor, op)
        here = self.rank == root
        if native is not None:
            target = self._whole(tensor) if here else None
            if here and source is not tensor:
                tensor.copy_(source)
            self._finish(self._comm.Ireduce(self._mpi.IN_PLACE if here else self._whole(source), target, native, root))
        else:
            rank_order.reduce(self, tensor, source, root, summed_as(op))
        if here:
            after(op, tensor, self.size)

    def reduce_scatter(self, output: Tensor, source: Tensor, op: ReduceOp) -> None:
        source = before(op, source)
        native = self._native(source, op)
        if native is not None:
            self._finish(self._comm.Ireduce_scatter_block(self._whole(source), self._whole(output), native))
        else:
            rank_order.reduce_scatter(self, output, source, summed_as(op))
        after(op, output, self.size)

    def _native(self, tensor: Tensor, op: ReduceOp) -> Any:
        """Return MPI's own operation if MPI can reduce this dtype and no order is asked for."""
        if self._types[tensor.dtype] is self._mpi.BYTE or (deterministic() and (tensor.is_floating_point() or tensor.is_complex())):
            return None
        return (self._logical_ops if tensor.dtype == undertow.bool else self._ops)[summed_as(op)]

    # Copies

    def broadcast(self, tensor: Tensor, root: int) -> None:
        self._finish(self._comm.Ibcast(self._whole(tensor), root))

    def all_gather(self, output: Tensor, source: Tensor) -> None:
        self._finish(self._comm.Iallgather(self._whole(source), self._whole(output)))

    def gather(self, output: Tensor | None, source: Tensor, root: int) -> None:
        self._finish(self._comm.Igather(self._whole(source), None if output is None else self._whole(output), root))

    def scatter(self, output: Tensor, source: Tensor | None, root: int) -> None:
        self._finish(self._comm.Iscatter(None if source is None else self._whole(source), self._whole(output), root))

    def all_to_all(self, output: Tensor, source: Tensor, output_counts: Sequence[int], source_counts: Sequence[int]) -> None:
        self._finish(self._comm.Ialltoallv(self._parts(source, source_counts), self._parts(output, output_counts)))

    def barrier(self) -> None:
        self._finish(self._comm.Ibarrier())

    # Messages

    def send(self, tensor: Tensor, to: int, tag: int) -> Pending:
        return self._message(self._comm.Isend(self._whole(tensor), to, self._checked(tag)), tensor)

    def receive(self, tensor: Tensor, source: int | None, tag: int) -> Pending:
        origin = self._mpi.ANY_SOURCE if source is None else source
        return self._message(self._comm.Irecv(self._whole(tensor), origin, self._checked(tag)), tensor)

    def _message(self, request: Any, tensor: Tensor) -> Pending:
        return _Message(request, self._waiter, self._mpi.Status(), tensor)

    def _checked(self, tag: int) -> int:
        if not 0 <= tag <= self._highest_tag:
            raise ValueError(f"tag {tag} is out of range: MPI has tags from 0 to {self._highest_tag - _OWN_TAGS}")
        return tag

    def own_tag(self, number: int) -> int:
        """Return one of the tags that programs do not use."""
        return self._highest_tag - number % _OWN_TAGS

    # Groups

    def subgroup(self, ranks: Sequence[int], number: int) -> Transport:
        tag = zlib.crc32(repr((list(ranks), number)).encode()) % (_OWN_TAGS - 1)
        members = self._comm.Get_group().Incl(list(ranks))
        made = self._comm.Create_group(members, self.own_tag(tag + 1))
        return MpiTransport(self._mpi, made, self.timeout, self._records, [self._waiter.ranks[r] for r in ranks])

    def abort(self, why: str) -> None:
        pass  # MPI ends a collective only together with the process

    def close(self) -> None:
        self._comm.Free()


def _datatypes(mpi: Any) -> dict[Any, Any]:
    """Return MPI's type for each dtype; those that MPI does not know are bytes."""
    known = {
        undertow.float32: mpi.FLOAT,
        undertow.float64: mpi.DOUBLE,
        undertow.complex64: mpi.C_FLOAT_COMPLEX,
        undertow.complex128: mpi.C_DOUBLE_COMPLEX,
        undertow.bool: mpi.C_BOOL,
        undertow.uint8: mpi.UINT8_T,
        undertow.int8: mpi.INT8_T,
        undertow.int16: mpi.INT16_T,
        undertow.int32: mpi.INT32_T,
        undertow.int64: mpi.INT64_T,
    }
    return _Known(known, mpi.BYTE)


class _Known(dict):
    def __init__(self, known: dict[Any, Any], otherwise: Any) -> None:
        super().__init__(known)
        self._otherwise = otherwise

    def __missing__(self, key: Any) -> Any:
        return self._otherwise


def _ops(mpi: Any) -> dict[ReduceOp, Any]:
    return {
        ReduceOp.SUM: mpi.SUM,
        ReduceOp.PRODUCT: mpi.PROD,
        ReduceOp.MIN: mpi.MIN,
        ReduceOp.MAX: mpi.MAX,
        ReduceOp.BAND: mpi.BAND,
        ReduceOp.BOR: mpi.BOR,
        ReduceOp.BXOR: mpi.BXOR,
    }


def _logical_ops(mpi: Any) -> dict[ReduceOp, Any]:
    any_of, all_of = mpi.LOR, mpi.LAND
    return {
        ReduceOp.SUM: any_of,
        ReduceOp.MAX: any_of,
        ReduceOp.BOR: any_of,
        ReduceOp.PRODUCT: all_of,
        ReduceOp.MIN: all_of,
        ReduceOp.BAND: all_of,
        ReduceOp.BXOR: mpi.LXOR,
    }
