"""Which transports a group has: one for tensors of the CPU, and one for those of a GPU if the backend is NCCL.

Tensors that are on another device than their transport's are copied there and back (_running.dense): tensors of a GPU where there is no
NCCL, tensors of the CPU where there is no MPI.
"""

from __future__ import annotations

import undertow
from undertow.distributed._processes import process
from undertow.distributed._transports.single import SingleTransport
from undertow.distributed._transports.work import WorkQueue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from undertow import Tensor
    from undertow.distributed._stores.store import Store
    from undertow.distributed._transports.interface import Transport
    from undertow.distributed._transports.nccl import Exchange


UNIQUE_ID_BYTES = 128  # of the name of a communicator of NCCL
_connections = 0  # how often this process has connected through a store


class Link:
    """A transport, and the queue that keeps its collectives in order."""

    def __init__(self, transport: Transport, queue: Any) -> None:
        self.transport, self.queue = transport, queue


class Links:
    """The links of one group: `host` for tensors of the CPU, `gpu` for those of a GPU if there is NCCL. They may be the same."""

    def __init__(self, host: Link, gpu: Link | None) -> None:
        self.host, self.gpu = host, gpu

    def of(self, tensors: Sequence[Tensor]) -> Link:
        """Return the link for some tensors."""
        if self.gpu is not None and any(tensor.is_cuda for tensor in tensors):
            return self.gpu
        return self.host

    def _each(self) -> list[Link]:
        return [self.host] if self.gpu is None or self.gpu is self.host else [self.host, self.gpu]

    def set_timeout(self, timeout: float) -> None:
        """Change how long collectives wait, in seconds."""
        for link in self._each():
            link.transport.timeout = timeout

    def subgroup(self, ranks: Sequence[int], number: int, backend: str | None) -> Links:
        """Return the links of some of all ranks: to the GPU as this group has it, or as `backend` says."""
        if self.gpu is not None and self.host is self.gpu:
            gpu = _gpu_link(self.gpu.transport.subgroup(ranks, number))
            return Links(gpu, gpu)
        timeout = self.host.transport.timeout
        host = Link(SingleTransport(timeout) if len(ranks) == 1 else self.host.transport.subgroup(ranks, number), WorkQueue())
        wants_gpu = self.gpu is not None if backend is None else "nccl" in backend_names(backend) and undertow.cuda.is_available()
        return Links(host, _nccl_link(host.transport.rank, list(ranks), timeout, _through_host(host)) if wants_gpu else None)

    def abort(self, why: str) -> None:
        """End what waits for other ranks, where a transport can; its later collectives raise `why`."""
        for link in self._each():
            link.transport.abort(why)

    def close(self) -> None:
        """End what runs, and release the transports."""
        for link in self._each():
            link.queue.close()
            link.transport.close()


def backend_names(backend: str | None) -> list[str]:
    """Return the names in a backend's argument.

    >>> backend_names("cpu:gloo,cuda:nccl"), backend_names(None)
    (['gloo', 'nccl'], ['gloo', 'nccl'])
    """
    return [part.rpartition(":")[2] for part in (backend or "cpu:gloo,cuda:nccl").lower().split(",")]


def nccl_is_usable() -> bool:
    """Return True if there is a GPU, and NCCL is found."""
    if not undertow.cuda.is_available():
        return False
    from undertow.distributed._transports import nccl_library

    return nccl_library.is_found()


def connect(backend: str | None, rank: int, size: int, store: Store | None, timeout: float) -> Links:
    """Connect the processes of a job: by NCCL if `backend` names it and there is a GPU, and by MPI."""
    wants_gpu = nccl_is_usable() if backend is None else "nccl" in backend_names(backend) and undertow.cuda.is_available()
    if wants_gpu and size > 1 and store is not None and not process.available():
        process.start_without_mpi(rank, size, store)
        gpu = _nccl_link(rank, list(range(size)), timeout, _through_store(store))
        return Links(gpu, gpu)
    host = Link(SingleTransport(timeout) if size == 1 else process.start(rank, size, store, timeout), WorkQueue())
    return Links(host, _nccl_link(rank, list(range(size)), timeout, _through_host(host)) if wants_gpu else None)


def _nccl_link(rank: int, ranks: list[int], timeout: float, exchange: Exchange) -> Link:
    from undertow.distributed._transports.nccl import NcclTransport

    return _gpu_link(NcclTransport(rank, len(ranks), timeout, ranks, "world", exchange))


def _gpu_link(transport: Transport) -> Link:
    from undertow.distributed._transports.stream_queue import StreamQueue

    gpu: Any = transport
    return Link(gpu, StreamQueue(gpu))


# How the ranks of a group agree on the name of NCCL's communicator: `exchange(key, given)` returns what the first rank gives.


def _through_store(store: Store) -> Exchange:
    global _connections
    _connections += 1
    prefix = f"nccl/{_connections}/"  # every rank connects as often

    def exchange(key: str, given: bytes | None) -> bytes:
        if given is None:
            return store.get(prefix + key)
        store.set(prefix + key, given)
        return given

    return exchange


def _through_host(host: Link) -> Exchange:
    def exchange(key: str, given: bytes | None) -> bytes:
        buffer = undertow.tensor(list(given or bytes(UNIQUE_ID_BYTES)), dtype=undertow.uint8)
        host.queue.run(lambda: host.transport.broadcast(buffer, 0))
        return bytes(buffer.tolist())

    return exchange
