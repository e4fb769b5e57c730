"""load: read a checkpoint into the tensors of a state dict, on any number of ranks. Each reads only the rows that it has."""

from __future__ import annotations

import os

import undertow
from undertow.distributed.checkpoint._files import Tensors, folder_of, read_index
from undertow.distributed.checkpoint._save import leaves
from undertow.distributed.tensor import sharding_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_reader: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Load a checkpoint into `state_dict` in place: tensors are overwritten, other values are replaced.

    Keys that the checkpoint does not have raise an error; keys that only the checkpoint has are left out. Nothing in the files is run.
    """
    folder = folder_of(checkpoint_id, storage_reader)
    where, values = read_index(folder)
    states = {key: value.state_dict() if _has_state(value) else value for key, value in state_dict.items()}
    wanted = list(leaves(states))
    missing = [name for name, _, _, value in wanted if name not in (where if isinstance(value, undertow.Tensor) else values)]
    if missing:
        raise RuntimeError(f"Missing key in checkpoint state_dict: {', '.join(missing[:10])}{' ...' if len(missing) > 10 else ''}")
    files: dict[str, Tensors] = {}
    with undertow.no_grad():
        for name, container, key, value in wanted:
            if not isinstance(value, undertow.Tensor):
                container[key] = tuple(values[name]) if isinstance(value, tuple) else values[name]
                continue
            file = where[name]
            if file not in files:
                files[file] = Tensors(os.path.join(folder, file))
            _read(name, value, files[file])
    for key, value in state_dict.items():
        if _has_state(value):
            value.load_state_dict(states[key])
        else:
            state_dict[key] = states[key]


def _has_state(value: Any) -> bool:
    return hasattr(value, "state_dict") and not isinstance(value, undertow.Tensor)


def _read(name: str, target: undertow.Tensor, file: Tensors) -> None:
    if name not in file:
        raise RuntimeError(f"load: the index says that {name} is in a file that does not have it")
    whole, sharding = file[name], sharding_of(target)
    shape = sharding.shape if sharding is not None else tuple(target.shape)
    if tuple(whole.shape) != shape:
        raise ValueError(f"Size mismatch between saved {tuple(whole.shape)} and current: {shape} for {name}")
    target.detach().copy_(sharding.part(whole) if sharding is not None else whole)
