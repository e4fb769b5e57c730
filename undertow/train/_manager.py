"""`CheckpointManager`: a folder of checkpoints, of which the newest are kept."""

from __future__ import annotations

import os

from undertow._C import Tensor
from undertow.train._checkpoint import Checkpoint
from undertow.train._checkpoint_state import Retention, get_checkpoint_state, latest_checkpoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class CheckpointManager:
    """Saves a `Checkpoint` again and again to a folder, and removes old files: the newest `max_to_keep` are kept (None: all).

    Of the older ones, one every `keep_checkpoint_every_n_hours` is kept, if given. A new manager takes over what is in the folder. With
    `step_counter` and `checkpoint_interval`, `save` writes only if the counter has advanced that far since the last save.

    >>> import tempfile
    >>> import undertow as ut
    >>> folder = tempfile.TemporaryDirectory()
    >>> w = ut.train.Variable(0.0)
    >>> manager = ut.train.CheckpointManager(ut.train.Checkpoint(w=w), folder.name, max_to_keep=2)
    >>> for _ in range(3):
    ...     path = manager.save()
    >>> [path.rpartition("/")[2] for path in manager.checkpoints]
    ['ckpt-2', 'ckpt-3']
    >>> folder.cleanup()
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: str | os.PathLike[str],
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
        step_counter: Tensor | None = None,
        checkpoint_interval: int | None = None,
        init_fn: Callable[[], Any] | None = None,
    ) -> None:
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(f"Expected a positive integer or None for `max_to_keep`, got {max_to_keep}.")
        if checkpoint_interval is not None and step_counter is None:
            raise ValueError("`step_counter` should be passed if `checkpoint_interval` is not None.")
        self._checkpoint, self._directory, self._name = checkpoint, os.fspath(directory), checkpoint_name
        self._step_counter, self._interval, self._init_fn = step_counter, checkpoint_interval, init_fn
        self._last_step: int | None = None
        self._retention = Retention(max_to_keep, keep_checkpoint_every_n_hours)
        os.makedirs(self._directory, exist_ok=True)
        state = get_checkpoint_state(self._directory)
        if state is not None:
            self._retention.recover(state.all_model_checkpoint_paths, state.all_model_checkpoint_timestamps)
            if state.last_preserved_timestamp is not None:
                self._retention.last_preserved = state.last_preserved_timestamp

    @property
    def directory(self) -> str:
        """The folder."""
        return self._directory

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint that is saved."""
        return self._checkpoint

    @property
    def checkpoint_interval(self) -> int | None:
        """How far the step counter must advance between two saves, or None."""
        return self._interval

    @property
    def latest_checkpoint(self) -> str | None:
        """The prefix of the newest checkpoint in the folder, or None."""
        return latest_checkpoint(self._directory)

    @property
    def checkpoints(self) -> list[str]:
        """The prefixes of the newest checkpoints, oldest first, without those kept because of their age."""
        return [prefix for prefix, _ in self._retention.kept]

    def save(self, checkpoint_number: int | Tensor | None = None, check_interval: bool = True) -> str | None:
        """Write a checkpoint and return its prefix; None if the step counter has not advanced far enough, unless check_interval=False.

        The prefix ends in `checkpoint_number`, by default in the number of the save.
        """
        step = None if self._step_counter is None else int(self._step_counter)
        if check_interval and self._interval is not None and step is not None and self._last_step is not None:
            if step - self._last_step < self._interval:
                return None
        number = None if checkpoint_number is None else int(checkpoint_number)
        prefix = self._checkpoint._save(os.path.join(self._directory, self._name), number)
        self._retention.record(self._directory, prefix)
        self._last_step = step
        return prefix

    def restore_or_initialize(self) -> str | None:
        """Restore the newest checkpoint and return its prefix; if there is none, call `init_fn`, if given, and return None."""
        newest = self.latest_checkpoint
        if newest is not None:
            self._checkpoint.restore(newest)
            self._last_step = None if self._step_counter is None else int(self._step_counter)
            return newest
        if self._init_fn is not None:
            self._init_fn()
        return None
