"""save and async_save: each rank writes its share of the tensors, whole, so any number of ranks can load them."""

from __future__ import annotations

import os
import secrets
import threading
import time

import undertow
from undertow import distributed
from undertow.distributed._groups.groups import chosen
from undertow.distributed.checkpoint._files import folder_of, shard_name, write_index, write_shard
from undertow.distributed.tensor import full_tensor, sharding_of
from undertow.futures import Future

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from undertow import Tensor

_PLAIN = (bool, int, float, str, type(None))
_WAIT = 1800.0  # seconds that rank 0 of async_save waits for the files of the others


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield (name, container, key, value) for everything in nested dicts and lists; names are joined by dots."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inside in items:
        path = f"{name}.{key}" if name else str(key)
        if isinstance(inside, (dict, list)) and (inside and not isinstance(inside, undertow.Tensor)):
            yield from leaves(inside, path)
        else:
            yield path, value, key, inside


def _stateful(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state with objects that have a state dict replaced by it, as torch does."""
    return {
        key: value.state_dict() if hasattr(value, "state_dict") and not isinstance(value, undertow.Tensor) else value for key, value in state.items()
    }


class _Staged:
    """What this rank writes, gathered and copied: later changes of the model do not reach it."""

    def __init__(self, state: dict[str, Any], group: Any, *, copies: bool) -> None:
        self.rank: int = group.rank() if group is not None else 0
        self.size: int = group.size() if group is not None else 1
        tensors: dict[str, Tensor] = {}
        self.values: dict[str, Any] = {}
        for name, _, _, value in leaves(_stateful(state)):
            if isinstance(value, undertow.Tensor):
                tensors[name] = value
            elif isinstance(value, _PLAIN) or (isinstance(value, (list, dict)) and not value):
                self.values[name] = value
            elif isinstance(value, tuple) and all(isinstance(part, _PLAIN) for part in value):
                self.values[name] = list(value)
            else:
                raise TypeError(f"save: {name} is a {type(value).__name__}; a checkpoint has tensors, numbers, strings, lists and dicts")
        self.owners = _plan(tensors, group)
        save_id = [secrets.token_hex(8)]
        if group is not None:
            distributed.broadcast_object_list(save_id, group=group, group_src=0)
        self.names = [shard_name(save_id[0], rank, self.size) for rank in range(self.size)]
        self.mine: dict[str, Tensor] = {}
        self.total = 0
        with undertow.no_grad():
            for name in sorted(self.owners):
                if name in tensors:
                    self._stage(name, tensors[name], copies)

    def _stage(self, name: str, tensor: Tensor, copies: bool) -> None:
        divided = sharding_of(tensor) is not None
        whole = full_tensor(tensor) if divided else tensor.detach()
        self.total += whole.nbytes
        if self.owners[name] == self.rank:
            self.mine[name] = whole.clone() if copies and not divided else whole

    def commit(self, folder: str) -> None:
        where = {name: self.names[owner] for name, owner in self.owners.items()}
        write_index(folder, where, self.total, self.values)


def _plan(tensors: dict[str, Tensor], group: Any) -> dict[str, int]:
    """Return the rank that writes each tensor: one that has it, the one with the fewest bytes so far."""
    sizes = {name: _whole_bytes(tensor) for name, tensor in tensors.items()}
    every: list[Any] = [sizes]
    if group is not None:
        every = [None] * group.size()
        distributed.all_gather_object(every, sizes, group)
    load, owners = [0] * len(every), {}
    known = {name: size for part in every for name, size in part.items()}
    for name in sorted(known, key=lambda n: (-known[n], n)):
        owner = min((rank for rank, part in enumerate(every) if name in part), key=lambda rank: (load[rank], rank))
        owners[name] = owner
        load[owner] += known[name]
    return owners


def _whole_bytes(tensor: Tensor) -> int:
    sharding = sharding_of(tensor)
    count = tensor.element_size()
    for size in sharding.shape if sharding is not None else tensor.shape:
        count *= size
    return count


def _group(process_group: Any) -> Any:
    return chosen(process_group) if distributed.is_initialized() else None


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_writer: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> None:
    """Save nested dicts of tensors and numbers in a folder; all ranks call it. A crash leaves the previous checkpoint intact.

    Divided tensors are gathered, and a tensor that all ranks have is written once.
    """
    group = None if no_dist else _group(process_group)
    folder = folder_of(checkpoint_id, storage_writer)
    staged = _Staged(state_dict, group, copies=False)
    problem: str | None = None
    try:
        os.makedirs(folder, exist_ok=True)
        write_shard(folder, staged.names[staged.rank], staged.mine)
    except OSError as error:
        problem = f"rank {staged.rank}: {error}"
    _agree(problem, group)
    if staged.rank == 0:
        try:
            staged.commit(folder)
        except OSError as error:
            problem = f"rank 0: {error}"
    _agree(problem, group)


def _agree(problem: str | None, group: Any) -> None:
    """Raise on all ranks if one has a problem."""
    problems: list[Any] = [problem]
    if group is not None:
        problems = [None] * group.size()
        distributed.all_gather_object(problems, problem, group)
    found = [text for text in problems if text is not None]
    if found:
        raise RuntimeError(f"save: the checkpoint was not written, the previous one is unchanged; {'; '.join(found)}")


def async_save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_writer: Any = None,
    planner: Any = None,
    process_group: Any = None,
    **options: Any,
) -> Future[None]:
    """Like `save`, but write the files in a thread: the tensors are gathered and copied before it returns. The future ends with the commit.

    The thread uses no collectives: rank 0 waits for the files of the others.
    """
    folder = folder_of(checkpoint_id, storage_writer)
    staged = _Staged(state_dict, _group(process_group), copies=True)
    done: Future[None] = Future()

    def write() -> None:
        try:
            os.makedirs(folder, exist_ok=True)
            write_shard(folder, staged.names[staged.rank], staged.mine)
            staged.mine.clear()
            if staged.rank == 0:
                _wait_for([os.path.join(folder, name) for name in staged.names])
                staged.commit(folder)
        except BaseException as error:
            done.set_exception(error)
        else:
            done.set_result(None)

    threading.Thread(target=write, name="undertow-checkpoint").start()
    return done


def _wait_for(paths: list[str]) -> None:
    end = time.monotonic() + _WAIT
    while missing := [path for path in paths if not os.path.exists(path)]:
        if time.monotonic() > end:
            raise RuntimeError(f"async_save: the checkpoint was not written: {missing[0]} did not appear in {_WAIT:.0f} s")
        time.sleep(0.02)
