"""`Checkpoint`: saves the objects that a root reaches, by the names of attributes on the way; and the result of restoring one."""

from __future__ import annotations

import os

import undertow
from undertow.train._checkpoint_state import update_checkpoint_state
from undertow.train._files import CheckpointReader, prefix_of, with_step, write_checkpoint
from undertow.train._objects import check_trackable, children, is_trackable, serialized
from undertow.train._restoration import Restoration
from undertow.train._variable import Variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class CheckpointLoadStatus:
    """What `Checkpoint.restore` returns: assertions about how much was restored. Each returns the status."""

    def __init__(self, restoration: Restoration) -> None:
        self._restoration = restoration

    def assert_consumed(self) -> CheckpointLoadStatus:
        """Raise an AssertionError unless every value of the checkpoint was used, and every variable of the program has one.

        Slots that an optimizer will create at its first step are not used before.
        """
        self.assert_existing_objects_matched()
        unused = self._restoration.unused()
        if unused:
            raise AssertionError(f"Unresolved object in checkpoint {self._restoration.prefix}: {unused[0]}, one of {len(unused)} values not used")
        return self

    def assert_existing_objects_matched(self) -> CheckpointLoadStatus:
        """Raise an AssertionError unless every variable and optimizer of the program that the root reaches is in the checkpoint."""
        self._restoration.quiet = True
        self._restoration.refresh()
        unmatched = self._restoration.unmatched()
        if unmatched:
            raise AssertionError(f"Object not assigned a value from checkpoint {self._restoration.prefix}: {unmatched[0]}, one of {len(unmatched)}")
        return self

    def expect_partial(self) -> CheckpointLoadStatus:
        """Do not log a warning when values of the checkpoint were never used."""
        self._restoration.quiet = True
        return self

    def initialize_or_restore(self, session: None = None) -> None:
        """Do nothing: values are restored already, and variables have a value from the start."""


class Checkpoint:
    """Saves and restores the objects given by name: variables, optimizers, moving averages, modules, and lists and dicts of them.

    Values are matched by the names of attributes, from the checkpoint to the variable; names of variables do not matter. A variable that
    does not exist yet is restored when it is created: as an attribute of the checkpoint or of a module, or as a slot of an optimizer.
    Slots are saved for variables that the checkpoint also reaches. With `root`, the attributes of that object are the first names.

    >>> import tempfile
    >>> import undertow as ut
    >>> w = ut.train.Variable(1.0)
    >>> opt = ut.train.MomentumOptimizer(0.1, 0.9)
    >>> _ = opt.minimize(w * w)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = ut.train.Checkpoint(w=w, opt=opt).save(f"{folder}/ckpt")
    ...     fresh = ut.train.Checkpoint(opt=ut.train.MomentumOptimizer(0.1, 0.9))
    ...     status = fresh.restore(path)
    >>> fresh.w = ut.train.Variable(0.0)     # restored now
    >>> _ = fresh.opt.minimize(fresh.w ** 2)   # its slot, too
    >>> _ = status.assert_consumed()
    >>> _ = opt.minimize(w * w)
    >>> fresh.w.item() == w.item()
    True
    """

    def __init__(self, root: Any = None, **kwargs: Any) -> None:
        self._tracked: dict[str, Any] = {}
        self._attached_root = root
        self._restoration: Restoration | None = None
        if root is not None:
            check_trackable("root", root)
        for name, value in kwargs.items():
            check_trackable(name, value)
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if name.startswith("_") and name != "_save_counter":
            return
        name = name.lstrip("_")
        if not is_trackable(value):
            self._tracked.pop(name, None)
            return
        self._tracked[name] = value
        if self._restoration is not None:
            self._restoration.created(self, name, value)

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        self._tracked.pop(name, None)

    def _checkpoint_children(self) -> dict[str, Any]:
        first = {} if self._attached_root is None else children(self._attached_root)
        twice = sorted(first.keys() & self._tracked.keys())
        if twice:
            raise ValueError(f"Checkpoint: the root already has an attribute {twice[0]!r}")
        return {**first, **self._tracked}

    @property
    def save_counter(self) -> Variable:
        """How often `save` was called, also before a restore: an integer variable, which is saved as well."""
        if "save_counter" not in self._tracked:
            self._save_counter = Variable(undertow.tensor(0, dtype=undertow.int64), False, "save_counter")
        return self._tracked["save_counter"]

    def write(self, file_prefix: str | os.PathLike[str]) -> str:
        """Write a checkpoint with exactly this prefix, without the state file; return the prefix."""
        prefix = prefix_of(file_prefix)
        write_checkpoint(prefix, *serialized(self))
        return prefix

    def save(self, file_prefix: str | os.PathLike[str]) -> str:
        """Write a checkpoint and then the state file of its folder; return its prefix: `file_prefix`, "-" and the number of the save."""
        prefix = self._save(prefix_of(file_prefix), None)
        update_checkpoint_state(os.path.dirname(prefix) or ".", prefix)
        return prefix

    def _save(self, file_prefix: str, number: int | None) -> str:
        counter = self.save_counter
        counter.assign_add(1)
        try:
            return self.write(with_step(file_prefix, int(counter) if number is None else number))
        except BaseException:
            counter.assign_sub(1)
            raise

    def read(self, save_path: str | os.PathLike[str]) -> CheckpointLoadStatus:
        """Restore a checkpoint that `write` wrote."""
        reader = CheckpointReader(save_path)
        self._restoration = Restoration(reader, self)
        return CheckpointLoadStatus(self._restoration)

    def restore(self, save_path: str | os.PathLike[str] | None) -> CheckpointLoadStatus:
        """Restore a checkpoint that `save` wrote: what exists now, and the rest when it is created.

        With None, as `latest_checkpoint` returns for an empty folder, nothing is restored, and assertions raise.
        """
        if save_path is None:
            return _NothingRestored()
        _ = self.save_counter  # restored with the rest
        return self.read(save_path)


class _NothingRestored(CheckpointLoadStatus):
    """The status where there was no checkpoint."""

    def __init__(self) -> None:
        pass

    def assert_consumed(self) -> CheckpointLoadStatus:
        raise AssertionError("No checkpoint specified (save_path=None); nothing is being restored.")

    def assert_existing_objects_matched(self) -> CheckpointLoadStatus:
        return self.assert_consumed()

    def expect_partial(self) -> CheckpointLoadStatus:
        return self
