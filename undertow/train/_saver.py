"""`Saver`: checkpoints of variables by name."""

from __future__ import annotations

import os

from undertow._C import Tensor
from undertow.train import _registry
from undertow.train._checkpoint_state import Retention, latest_checkpoint
from undertow.train._files import CheckpointReader, prefix_of, with_step, write_checkpoint
from undertow.train._state import StateHolder, fits, put
from undertow.train._variable import Variable, described

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class Saver:
    """Saves variables to files and restores them.

    `var_list` is a list of variables, optimizers and moving averages, or a dict that gives the names to use in the file. An optimizer
    stands for its slots and its other state; what it has not created yet is restored when it is created. By default the saver takes all
    of them that exist when it is made.

    `save` returns the prefix of the checkpoint, to be passed to `restore`; its file is the prefix with ".safetensors". The newest
    `max_to_keep` are kept (None or 0: all), and beyond them one every `keep_checkpoint_every_n_hours`. A crash while saving leaves the
    earlier checkpoints and the state file as they were.

    >>> import tempfile
    >>> import undertow as ut
    >>> w = ut.train.Variable(1.0, name="w")
    >>> opt = ut.train.MomentumOptimizer(0.1, 0.9)
    >>> saver = ut.train.Saver([w, opt])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = opt.minimize(w * w)
    ...     path = saver.save(f"{folder}/model.ckpt", global_step=1)
    ...     _ = opt.minimize(w * w)
    ...     saver.restore(path)
    ...     ut.train.list_variables(folder)
    [('w', []), ('w/Momentum', [])]
    >>> w.item(), opt.get_slot(w, "momentum").item()
    (0.800000011920929, 2.0)
    """

    def __init__(
        self,
        var_list: Any = None,
        reshape: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        allow_empty: bool = False,
        pad_step_number: bool = False,
    ) -> None:
        self._reshape, self._pad_step_number = reshape, pad_step_number
        if var_list is None:
            self._holders = _unique_names(_registry.holders())
            owned = {id(v) for h in self._holders.values() for v in _state_of(h)}
            self._variables = _by_name([v for v in _registry.global_variables() if id(v) not in owned])
        else:
            self._variables, self._holders = _given(var_list)
        if not self._variables and not self._holders and not allow_empty:
            raise ValueError("No variables to save: the program has none, or var_list is empty")
        self._retention = Retention(max_to_keep, keep_checkpoint_every_n_hours)

    @property
    def last_checkpoints(self) -> list[str]:
        """The prefixes of the checkpoints that are kept, oldest first."""
        return [prefix for prefix, _ in self._retention.kept]

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time: Sequence[tuple[str, float]]) -> None:
        """Set the list of checkpoints that this saver keeps and later removes: pairs of a prefix and a time, oldest first."""
        self._retention.kept = [(prefix_of(p), float(t)) for p, t in last_checkpoints_with_time]

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[str]) -> None:
        """Take over the checkpoints of an earlier process, oldest first, so that they count and are removed in their turn."""
        self._retention.recover([prefix_of(p) for p in checkpoint_paths])

    def save(
        self,
        save_path: str | os.PathLike[str],
        global_step: int | Tensor | None = None,
        latest_filename: str | None = None,
        write_state: bool = True,
    ) -> str:
        """Write a checkpoint, then the state file of its folder, then remove what is no longer kept; return the checkpoint's prefix.

        The prefix is `save_path`, followed by "-" and `global_step` if that is given.
        """
        prefix = prefix_of(save_path)
        step = None if global_step is None else int(global_step)
        if not os.path.basename(prefix):
            raise ValueError(f"save_path must end in a name, not in a folder: {prefix!r}")
        prefix = f"{prefix}-{step:08d}" if self._pad_step_number and step is not None else with_step(prefix, step)
        tensors: dict[str, Tensor] = {}
        for name, v in self._now():
            if name in tensors:
                raise ValueError(f"At least two variables have the same name: {name}")
            tensors[name] = v
        write_checkpoint(prefix, tensors, {"kind": "saver", "holders": sorted(self._holders)})
        self._retention.record(os.path.dirname(prefix) or ".", prefix, latest_filename, write_state)
        return prefix

    def restore(self, save_path: str | os.PathLike[str]) -> None:
        """Set all variables to their values in a checkpoint. Everything is checked before the first variable changes."""
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        reader = CheckpointReader(save_path)
        saved_holders = reader.about.get("holders", [])
        for name in self._holders:
            if name not in saved_holders:
                raise ValueError(f"{reader.prefix} was saved without the optimizer or moving average {name!r}; leave it out of var_list")
        values = reader.get_tensors(self._variables)
        for name, v in self._variables.items():
            if self._reshape and values[name].numel() == v.numel():
                values[name] = values[name].reshape(v.shape)
            fits(v, values[name], f"restore: {name!r}")
        rest = reader.get_tensors(n for n in reader.get_variable_to_shape_map() if n not in self._variables) if self._holders else {}
        for number, holder in enumerate(self._holders.values()):
            holder._restore_from(_NamedSource(rest, _ending(self._holders, number)))
        for name, v in self._variables.items():
            put(v, values[name])

    def _now(self) -> list[tuple[str, Tensor]]:
        """Return the variables by their names in the file, with the state that optimizers have now."""
        found: list[tuple[str, Tensor]] = list(self._variables.items())
        for number, holder in enumerate(self._holders.values()):
            for _, var, slot in holder._all_slots():
                if not isinstance(var, Variable):
                    raise ValueError(
                        f"save: {type(holder).__name__} has a slot of {described(var)}, which has no name; use train.Checkpoint, or a train.Variable"
                    )
                found.append((slot.name, slot))
            found += [(name + _ending(self._holders, number), v) for name, v in holder._non_slots.items()]
        return found


def _ending(holders: dict[str, Any], number: int) -> str:
    """Return what distinguishes the state of optimizers of one class: "" for the first, "_1" for the second, as TensorFlow names them."""
    kinds = [type(h) for h in holders.values()]
    earlier = kinds[:number].count(kinds[number])
    return f"_{earlier}" if earlier else ""


def _state_of(holder: StateHolder) -> list[Variable]:
    return [*holder._non_slots.values(), *(slot for _, _, slot in holder._all_slots())]


def _unique_names(holders: Sequence[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for holder in holders:
        name, number = holder._name, 0
        while name in found:
            number += 1
            name = f"{holder._name}_{number}"
        found[name] = holder
    return found


def _by_name(variables: Sequence[Any]) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}
    for v in variables:
        if not isinstance(v, Variable):
            what = described(v) if isinstance(v, Tensor) else repr(v)
            raise TypeError(f"var_list: expected train variables, optimizers or moving averages, got {what}; pass a dict to give a tensor a name")
        if found.setdefault(v.name, v) is not v:
            raise ValueError(f"At least two variables have the same name: {v.name}")
    return found


def _given(var_list: Any) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the variables and the optimizers of a list or a dict, by name."""
    if not hasattr(var_list, "items"):
        items = list(var_list)
        holders = [item for item in items if isinstance(item, StateHolder)]
        return _by_name([item for item in items if not isinstance(item, StateHolder)]), _unique_names(holders)
    named, named_holders = {}, {}
    for name, item in var_list.items():
        if isinstance(item, StateHolder):
            named_holders[name] = item
        elif isinstance(item, Tensor):
            named[name] = item
        else:
            raise TypeError(f"var_list: {name!r} must be a variable, a tensor, an optimizer or a moving average, got {type(item).__name__}")
    return named, named_holders


class _NamedSource:
    """The values of a checkpoint by the names of variables."""

    def __init__(self, values: dict[str, Tensor], ending: str) -> None:
        self._values, self._ending = values, ending

    def slot(self, holder: StateHolder, var: Tensor, slot_name: str, name: str) -> Tensor | None:
        return self._values.pop(name, None)

    def non_slot(self, holder: StateHolder, name: str) -> Tensor | None:
        return self._values.pop(name + self._ending, None)

    def is_empty(self) -> bool:
        return not self._values


def load_checkpoint(ckpt_dir_or_file: str | os.PathLike[str]) -> CheckpointReader:
    """Return a reader of a checkpoint, given by its prefix, its file, or a folder, which means the folder's newest."""
    if not (isinstance(ckpt_dir_or_file, (str, os.PathLike)) and os.path.isdir(ckpt_dir_or_file)):
        return CheckpointReader(ckpt_dir_or_file)  # which checks the type
    newest = latest_checkpoint(ckpt_dir_or_file)
    if newest is None:
        raise ValueError(f"Couldn't find 'checkpoint' file or checkpoints in given directory {os.fspath(ckpt_dir_or_file)}")
    return CheckpointReader(newest)


def list_variables(ckpt_dir_or_file: str | os.PathLike[str]) -> list[tuple[str, list[int]]]:
    """Return the names and shapes in a checkpoint, sorted by name."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def load_variable(ckpt_dir_or_file: str | os.PathLike[str], name: str) -> Tensor:
    """Return the value of a variable in a checkpoint, as a tensor."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name)
