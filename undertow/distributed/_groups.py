"""Groups of one process: their members, and the default group. Does not use tensors."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_NO_GROUP = "Default process group has not been initialized, please make sure to call init_process_group."
_SEVERAL = "a world size of {} is not supported: training over several processes is planned"


class Backend(str):
    """The name of a backend, in lower case."""

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"
    backend_list: list[str] = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI]
    default_device_backend_map: dict[str, str] = {"cpu": GLOO}

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return super().__new__(cls, name.lower())


class HashStore:
    """A key-value store shared by all processes, of which there is one."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}

    def set(self, key: str, value: str | bytes) -> None:
        """Store a value."""
        self._values[key] = value.encode() if isinstance(value, str) else bytes(value)

    def get(self, key: str) -> bytes:
        """Return the value of a key; raise if it is missing, because no other process could set it."""
        if key not in self._values:
            raise RuntimeError(f"wait timeout after 300000ms, keys: /{key}")
        return self._values[key]

    def add(self, key: str, amount: int) -> int:
        """Add to a number and return the sum."""
        total = int(self._values.get(key, b"0")) + amount
        self._values[key] = str(total).encode()
        return total


class ProcessGroup:
    """A group whose only member is this process."""

    def __init__(self, backend: str, name: str) -> None:
        self._backend, self._name = Backend(backend), name

    def rank(self) -> int:
        """Return the rank of this process."""
        return 0

    def size(self) -> int:
        """Return the number of processes in the group."""
        return 1

    def name(self) -> str:
        """Return the name of the backend."""
        return str(self._backend)

    @property
    def group_name(self) -> str:
        """The name of the group."""
        return self._name


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


def is_available() -> bool:
    """Return True: groups of one process are supported."""
    return True


def is_initialized() -> bool:
    """Return True if there is a default group."""
    return group.WORLD is not None


def is_torchelastic_launched() -> bool:
    """Return True if torchrun started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def is_gloo_available() -> bool:
    """Return True: gloo's collectives are supported for one process."""
    return True


def is_nccl_available() -> bool:
    """Return False: there is no NCCL backend."""
    return False


def is_mpi_available() -> bool:
    """Return False: there is no MPI backend."""
    return False


def is_ucc_available() -> bool:
    """Return False: there is no UCC backend."""
    return False


def is_xccl_available() -> bool:
    """Return False: there is no XCCL backend."""
    return False


def is_backend_available(backend: str) -> bool:
    """Return True if a group can be created with this backend."""
    return backend.lower() == "gloo"


def _check_backend(backend: str | None) -> str:
    names = [part.rpartition(":")[2] for part in (backend or "gloo").lower().split(",")]  # "cpu:gloo,cuda:nccl"
    for name in names:
        if name not in Backend.backend_list:
            raise AssertionError(f"Unknown backend type {name}")
    if "gloo" not in names:
        raise RuntimeError(f"Distributed package doesn't have {names[0].upper()} built in")
    return "gloo"


def _told(name: str) -> int:
    value = os.environ.get(name)
    if value is None:
        raise ValueError(f"Error initializing torch.distributed using env:// rendezvous: environment variable {name} expected, but not set")
    return int(value)


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: Any = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Create the default group. Rank and world size come from the arguments, or from the environment as set by torchrun.

    >>> init_process_group("gloo", rank=0, world_size=1)
    >>> get_rank(), get_world_size()
    (0, 1)
    >>> destroy_process_group()
    """
    if group.WORLD is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    name = _check_backend(backend)
    if init_method in (None, "env://") and store is None:
        rank = _told("RANK") if rank < 0 else rank
        world_size = _told("WORLD_SIZE") if world_size < 0 else world_size
    if world_size < 1:
        raise AssertionError("world_size must be positive if using store" if store is not None else "world_size must be given with this init_method")
    if world_size > 1:
        raise NotImplementedError(_SEVERAL.format(world_size))
    if rank != 0:
        raise ValueError(f"rank {rank} is out of range for a world size of 1")
    group.WORLD = ProcessGroup(name, group_name or "default_pg")


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Destroy a group, or all groups if none is given."""
    if _Groups._world is None:
        raise AssertionError("Process group cannot be None")
    ending = chosen(group)
    if ending is _Groups._world:
        _Groups._world = None
        _made.clear()
    else:
        _made.remove(ending)


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: Any = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
) -> Any:
    """Create a group of some of the processes; if `ranks` is empty, return the marker for a group that this process is not in."""
    world = default_group()
    if ranks is not None:
        if len(ranks) > 1:
            raise ValueError("the new group's world size should be less or equal to the world size set by init_process_group")
        if any(rank != 0 for rank in ranks):
            raise ValueError("The new group's rank should be within the world_size set by init_process_group")
        if not len(ranks):
            return GroupMember.NON_GROUP_MEMBER
    made = ProcessGroup(_check_backend(backend or world.name()), str(len(_made) + 1))
    _made.append(made)
    return made


def get_rank(group: ProcessGroup | None = None) -> int:
    """Return the rank of this process in the group; -1 if it is not a member."""
    return -1 if group == GroupMember.NON_GROUP_MEMBER else chosen(group).rank()


def get_world_size(group: ProcessGroup | None = None) -> int:
    """Return the number of processes in the group; -1 if this process is not a member."""
    return -1 if group == GroupMember.NON_GROUP_MEMBER else chosen(group).size()


def get_backend(group: ProcessGroup | None = None) -> Backend:
    """Return the backend of the group."""
    return chosen(group)._backend


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """Return the global ranks of the group's members."""
    chosen(group)
    return [0]


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """Return the global rank of a member of a group."""
    chosen(group)
    if group_rank != 0:
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return 0


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """Return the rank in a group of a process with a global rank."""
    chosen(group)
    if global_rank != 0:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return 0
