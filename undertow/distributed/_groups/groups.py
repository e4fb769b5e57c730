"""Process groups: their members, the default group, and torch's functions about them. Does not use tensors.

Rendezvous (which processes there are) is in rendezvous.py; which transports a group has is in links.py.
"""

from __future__ import annotations

import os
from datetime import timedelta

from undertow import _ranks
from undertow.distributed._groups.links import Links, backend_names, nccl_is_usable
from undertow.distributed._processes import process
from undertow.distributed._transports.work import seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from undertow.distributed._stores.store import Store

default_pg_timeout = timedelta(minutes=30)
_NO_GROUP = "Default process group has not been initialized, please make sure to call init_process_group."


class Backend(str):
    """The name of a backend, in lower case."""

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"
    backend_list: list[str] = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI]
    default_device_backend_map: dict[str, str] = {"cpu": GLOO, "cuda": NCCL}

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return super().__new__(cls, name.lower())


class ProcessGroup:
    """Some of the processes of a job. `links` move their tensors."""

    def __init__(self, backend: str, name: str, links: Links, ranks: list[int], store: Store | None = None) -> None:
        self._backend, self._name = Backend(backend), name
        self.links, self.ranks, self._store = links, ranks, store
        self._rank, self._size = links.host.transport.rank, links.host.transport.size
        self.collectives = 0  # how many have begun: all ranks must agree

    def rank(self) -> int:
        """Return the rank of this process."""
        return self._rank

    def size(self) -> int:
        """Return the number of processes in the group."""
        return self._size

    def name(self) -> str:
        """Return the name of the backend."""
        return str(self._backend)

    def set_timeout(self, timeout: timedelta) -> None:
        """Change how long collectives of the group wait."""
        self.links.set_timeout(timeout.total_seconds())

    def abort(self) -> None:
        """End the collectives on a GPU that wait for other ranks, instead of waiting for them as destroy_process_group does; later ones raise."""
        self.links.abort("NCCL: the group was aborted")

    def get_group_store(self) -> Store | None:
        """Return the store that the group was made with, if any."""
        return self._store

    @property
    def group_name(self) -> str:
        """The name of the group."""
        return self._name

    @property
    def group_desc(self) -> str:
        """The description of the group."""
        return self._name

    def __repr__(self) -> str:
        return f"ProcessGroup({self._backend}, rank {self.rank()} of {self.size()})"


class _Groups(type):
    """Metaclass of `group`; its WORLD is set by init_process_group."""

    _world: ProcessGroup | None = None

    @property
    def WORLD(cls) -> ProcessGroup | None:
        """The group of all processes."""
        return _Groups._world

    @WORLD.setter
    def WORLD(cls, value: ProcessGroup | None) -> None:
        _Groups._world = value


class group(metaclass=_Groups):
    """Namespace of the default group, `group.WORLD`."""


class GroupMember(metaclass=_Groups):
    """Like `group`, with the marker for a group that this process is not in."""

    NON_GROUP_MEMBER = -100


_made: list[ProcessGroup] = []
_numbers: dict[tuple[int, ...], int] = {}  # how many groups of the same ranks were made


def default_group() -> ProcessGroup:
    """Return the group of all processes; raise torch's error if it is not initialized."""
    world = group.WORLD
    if world is None:
        raise ValueError(_NO_GROUP)
    return world


def chosen(given: Any) -> ProcessGroup:
    """Return the group for an argument; None means the default group."""
    world = default_group()
    if given is None or given is world:
        return world
    if given not in _made:
        raise ValueError("Invalid process group specified")
    return given


def outside(given: Any) -> bool:
    """Return True if this process is not in the group; a collective then does nothing."""
    return isinstance(given, int) and given == GroupMember.NON_GROUP_MEMBER


def is_available() -> bool:
    """Return True: the package is part of Undertow."""
    return True


def is_initialized() -> bool:
    """Return True if there is a default group."""
    return group.WORLD is not None


def is_torchelastic_launched() -> bool:
    """Return True if torchrun started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def is_gloo_available() -> bool:
    """Return True: the name gloo is accepted, for MPI."""
    return True


def is_nccl_available() -> bool:
    """Return True if there is a GPU and NCCL is installed. The name is accepted without them, for tensors on the CPU and MPI."""
    return nccl_is_usable()


def is_mpi_available() -> bool:
    """Return True if mpi4py is installed."""
    return process.available()


def is_ucc_available() -> bool:
    """Return False: there is no UCC backend."""
    return False


def is_xccl_available() -> bool:
    """Return False: there is no XCCL backend."""
    return False


def is_backend_available(backend: str) -> bool:
    """Return True if a group can be created with this backend."""
    known = {"gloo": is_gloo_available, "mpi": is_mpi_available, "nccl": is_nccl_available}
    return backend.lower() in known and known[backend.lower()]()


def check_backend(backend: str | None) -> str:
    """Return the name that a group gives for its backend; raise torch's error if there is none."""
    names = backend_names(backend)
    for name in names:
        if name not in Backend.backend_list:
            raise AssertionError(f"Unknown backend type {name}")
    usable = [name for name in ("gloo", "mpi", "nccl") if name in names]
    if not usable:
        raise RuntimeError(f"Distributed package doesn't have {names[0].upper()} built in")
    return usable[0]


def set_world(backend: str, name: str, links: Links, store: Store | None) -> None:
    """Make the default group."""
    made = group.WORLD = ProcessGroup(backend, name, links, list(range(links.host.transport.size)), store)
    if made.size() > 1:  # a group of one says nothing about the job
        _ranks.known = made.rank(), made.size()


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Destroy a group, or all groups if none is given."""
    if _Groups._world is None:
        raise AssertionError("Process group cannot be None")
    ending = chosen(group)
    every = [ending] if ending is not _Groups._world else [*_made, ending]
    for old in every:
        old.links.close()
        if old in _made:
            _made.remove(old)
    if ending is _Groups._world:
        _Groups._world = None
        _numbers.clear()


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: Any = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
) -> Any:
    """Create a group of some of the processes; return the marker GroupMember.NON_GROUP_MEMBER on the others.

    Only the members have to call it, but in the same order; torch asks all processes to, unless `use_local_synchronization` is True.
    """
    world = default_group()
    members = sorted(ranks) if ranks is not None else list(range(world.size()))
    if len(members) > world.size():
        raise ValueError("the new group's world size should be less or equal to the world size set by init_process_group")
    for rank in members:
        if not 0 <= rank < world.size():
            raise ValueError(f"Rank {rank} is out of range. The new group's ranks should be within the world size {world.size()}")
    if len(set(members)) != len(members):
        raise ValueError(f"new_group: ranks are repeated: {members}")
    if world.rank() not in members:
        return GroupMember.NON_GROUP_MEMBER
    number = _numbers[tuple(members)] = _numbers.get(tuple(members), 0) + 1
    name = check_backend(backend or world.name())
    made = ProcessGroup(name, group_desc or str(len(_made) + 1), world.links.subgroup(members, number, backend), members, world._store)
    if timeout is not None:
        made.links.set_timeout(seconds(timeout) or 0.0)
    _made.append(made)
    return made


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: Any = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Create a group for each list of ranks; return this process's group and all groups."""
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    every = [rank for ranks in ranks_per_subgroup_list for rank in ranks]
    if len(set(every)) != len(every):
        raise ValueError(f"new_subgroups_by_enumeration: a rank is in several groups: {sorted(every)}")
    groups = [new_group(ranks, timeout, backend, pg_options, group_desc=group_desc) for ranks in ranks_per_subgroup_list]
    return next((made for made in groups if not outside(made)), None), groups


def new_subgroups(
    group_size: int | None = None,
    group: ProcessGroup | None = None,
    timeout: Any = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Divide the processes into groups of `group_size` consecutive ranks; return this process's group and all groups."""
    members = chosen(group).ranks
    size = group_size if group_size is not None else int(os.environ.get("LOCAL_WORLD_SIZE", len(members)))
    if size < 1 or len(members) % size:
        raise ValueError(f"The world size ({len(members)}) must be divisible by group_size={size}")
    return new_subgroups_by_enumeration([members[k : k + size] for k in range(0, len(members), size)], timeout, backend, pg_options, group_desc)


def get_rank(group: ProcessGroup | None = None) -> int:
    """Return the rank of this process in the group; -1 if it is not a member."""
    return -1 if outside(group) else chosen(group).rank()


def get_world_size(group: ProcessGroup | None = None) -> int:
    """Return the number of processes in the group; -1 if this process is not a member."""
    return -1 if outside(group) else chosen(group).size()


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """Return the rank of this process on its host, which the launcher sets."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is None:
        raise RuntimeError("LOCAL_RANK is not in the environment. Consider passing fallback_rank, or start the program with the launcher.")
    return int(fallback_rank)


def get_backend(group: ProcessGroup | None = None) -> Backend:
    """Return the backend of the group."""
    return chosen(group)._backend


def get_default_backend_for_device(device: Any) -> str:
    """Return the backend of a device's tensors."""
    import undertow

    name = undertow.device(device).type
    if name not in Backend.default_device_backend_map:
        raise ValueError(f"Default backend not registered for device : {device}")
    return Backend.default_device_backend_map[name]


def get_pg_count() -> int:
    """Return the number of groups that this process is in."""
    return len(_made) + is_initialized()


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """Return the global ranks of the group's members."""
    return list(chosen(group).ranks)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """Return the global rank of a member of a group."""
    ranks = chosen(group).ranks
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return ranks[group_rank]


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """Return the rank in a group of a process with a global rank."""
    ranks = chosen(group).ranks
    if global_rank not in ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return ranks.index(global_rank)
