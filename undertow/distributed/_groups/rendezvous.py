"""init_process_group: find out which processes there are, by an MPI launcher, by the environment, by a file, an address or a store."""

from __future__ import annotations

import os
import sys
from datetime import timedelta
from urllib.parse import parse_qs, urlparse

from undertow.distributed._groups import groups
from undertow.distributed._groups.groups import check_backend, default_pg_timeout, group, set_world
from undertow.distributed._groups.links import connect
from undertow.distributed._processes import process
from undertow.distributed._transports.work import seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from undertow.distributed._stores.store import Store

_said: set[str] = set()


def _from_environment(name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise ValueError(f"Error initializing torch.distributed using env:// rendezvous: environment variable {name} expected, but not set")
    return value


def rendezvous(url: str, rank: int = -1, world_size: int = -1, **options: Any) -> Iterator[tuple[Store, int, int]]:
    """Yield the store, the rank and the world size that `url` leads to: env://, tcp://host:port or file:///path.

    What `rank` and `world_size` do not say is read from the url's query (`?rank=0&world_size=2`) or from the environment.
    """
    parts = urlparse(url)
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    timeout = options.get("timeout", default_pg_timeout)
    rank = int(query.get("rank", rank))
    world_size = int(query.get("world_size", world_size))
    if parts.scheme == "env":
        rank = int(_from_environment("RANK")) if rank < 0 else rank
        world_size = int(_from_environment("WORLD_SIZE")) if world_size < 0 else world_size
        host, port = _from_environment("MASTER_ADDR"), int(_from_environment("MASTER_PORT"))
        yield _tcp(host, port, rank, world_size, timeout), rank, world_size
    elif parts.scheme == "tcp":
        if rank < 0 or world_size < 0 or parts.port is None or not parts.hostname:
            raise ValueError(f"Error initializing torch.distributed using tcp:// rendezvous: {url} needs a host, a port, a rank and a world size")
        yield _tcp(parts.hostname, parts.port, rank, world_size, timeout), rank, world_size
    elif parts.scheme == "file":
        if rank < 0 or world_size < 0 or not parts.path:
            raise ValueError(f"Error initializing torch.distributed using file:// rendezvous: {url} needs a path, a rank and a world size")
        from undertow.distributed._stores.store import FileStore

        store = FileStore(parts.path, world_size)
        store.set_timeout(timeout)
        yield store, rank, world_size
    else:
        raise RuntimeError(f"No rendezvous handler for {parts.scheme}://")


def _tcp(host: str, port: int, rank: int, world_size: int, timeout: timedelta) -> Store:
    from undertow.distributed._stores.tcp_store import TCPStore

    served = rank == 0 and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
    return TCPStore(host, port, world_size, is_master=served, timeout=timeout, wait_for_workers=False)


def say_once(text: str) -> None:
    """Print a line on standard error, the first time only, on rank 0."""
    if text not in _said and groups.get_rank() == 0:
        _said.add(text)
        print(text, file=sys.stderr)


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Store | None = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Create the default group: connect the processes of a job.

    Under `mpiexec` MPI knows the processes. Otherwise rank and world size come from the arguments or the environment, as torchrun sets
    them, and the processes meet at `init_method` (env://, tcp://host:port, file:///path) or in `store`. Tensors are moved by MPI,
    whichever backend is named; those of a GPU by NCCL if it is named and installed.

    >>> import undertow.distributed as dist
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> dist.get_rank(), dist.get_world_size()
    (0, 1)
    >>> dist.destroy_process_group()
    """
    if group.WORLD is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    name = check_backend(backend)
    limit = default_pg_timeout if timeout is None else timeout
    launched = process.launched()
    if launched is not None and (launched[1] > 1 or "RANK" not in os.environ):
        rank, world_size = (launched[0] if rank < 0 else rank), (launched[1] if world_size < 0 else world_size)
        if "RANK" in os.environ and init_method in (None, "env://") and store is None:
            rank, world_size = int(os.environ["RANK"]), int(os.environ.get("WORLD_SIZE", world_size))
    elif store is None:
        rank, world_size, store = _meet(init_method or "env://", rank, world_size, limit)
    if world_size < 1:
        raise AssertionError("world_size must be positive if using store" if store is not None else "world_size must be given with this init_method")
    if not 0 <= rank < world_size:
        raise ValueError(f"rank {rank} is out of range for a world size of {world_size}")
    links = connect(backend, rank, world_size, store, seconds(limit) or 0.0)
    set_world(name, group_name or "default_pg", links, store)
    if world_size > 1 and name != "mpi" and links.gpu is None:
        say_once(f"undertow.distributed: backend {name!r} is MPI here: tensors are on the CPU, and MPI moves them")


def _meet(url: str, rank: int, world_size: int, timeout: timedelta) -> tuple[int, int, Store | None]:
    """Return rank, world size and the store at `url`; a group of one needs no store."""
    if url == "env://":
        rank = int(_from_environment("RANK")) if rank < 0 else rank
        world_size = int(_from_environment("WORLD_SIZE")) if world_size < 0 else world_size
    if world_size == 1 or (url != "env://" and "world_size=1" in url.partition("?")[2].split("&")):
        return max(rank, 0), 1, None
    store, rank, world_size = next(iter(rendezvous(url, rank, world_size, timeout=timeout)))
    return rank, world_size, store
