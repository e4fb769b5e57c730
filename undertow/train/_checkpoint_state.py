"""The state file of a folder of checkpoints: a text file named "checkpoint" with the newest one and those kept; which ones to keep.

The file has TensorFlow's format, lines of `name: value`. It is written after the checkpoint it names, and before old ones are removed.
"""

from __future__ import annotations

import json
import os
import time

from undertow.train._files import checkpoint_exists, get_checkpoint_mtimes, remove_checkpoint, write_safely

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class CheckpointState:
    """The content of a state file. Paths are prefixes, relative to the current folder or absolute, whatever the file says."""

    model_checkpoint_path: str
    all_model_checkpoint_paths: list[str]
    all_model_checkpoint_timestamps: list[float]
    last_preserved_timestamp: float | None

    def __init__(self, newest: str, paths: Sequence[str], timestamps: Sequence[float], last_preserved: float | None) -> None:
        self.model_checkpoint_path = newest
        self.all_model_checkpoint_paths = list(paths)
        self.all_model_checkpoint_timestamps = list(timestamps)
        self.last_preserved_timestamp = last_preserved

    def __repr__(self) -> str:
        return f"CheckpointState(model_checkpoint_path={self.model_checkpoint_path!r}, all_model_checkpoint_paths={self.all_model_checkpoint_paths})"


def _file(folder: str, latest_filename: str | None) -> str:
    name = latest_filename or "checkpoint"
    if os.path.basename(name) != name:
        raise ValueError(f"'latest_filename' must not contain path components: {name!r}")
    return os.path.join(folder, name)


def update_checkpoint_state(
    save_dir: str | os.PathLike[str],
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> None:
    """Write the state file of a folder. Paths of checkpoints in the folder are written relative to it, so that it can be moved."""
    folder = os.fspath(save_dir)
    paths = list(all_model_checkpoint_paths or [])
    times = list(all_model_checkpoint_timestamps or [])
    if times and len(times) != len(paths):
        raise ValueError("Checkpoint timestamps, if provided, must match checkpoint paths in number")
    if model_checkpoint_path not in paths:
        paths.append(model_checkpoint_path)
        if times:
            times.append(time.time())

    def short(path: str) -> str:
        inside = os.path.dirname(os.path.abspath(path)) == os.path.abspath(folder)
        return json.dumps(os.path.basename(path) if inside else os.path.abspath(path))

    lines = [f"model_checkpoint_path: {short(model_checkpoint_path)}"]
    lines += [f"all_model_checkpoint_paths: {short(path)}" for path in paths]
    lines += [f"all_model_checkpoint_timestamps: {t!r}" for t in times]
    if last_preserved_timestamp is not None:
        lines.append(f"last_preserved_timestamp: {last_preserved_timestamp!r}")
    text = "\n".join(lines) + "\n"
    write_safely(_file(folder, latest_filename), lambda file: file.write(text.encode("utf-8")))


def get_checkpoint_state(checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None) -> CheckpointState | None:
    """Return the content of the state file of a folder, or None if there is none or if it is not one."""
    folder = os.fspath(checkpoint_dir)
    path = _file(folder, latest_filename)
    if not os.path.isfile(path):
        return None
    found: dict[str, list[Any]] = {}
    try:
        with open(path, encoding="utf-8") as file:
            for line in file:
                name, _, value = line.strip().partition(": ")
                if name:
                    found.setdefault(name, []).append(json.loads(value))
        newest = [p for p in found.get("model_checkpoint_path", []) if isinstance(p, str)]
        paths = [os.path.join(folder, p) for p in found.get("all_model_checkpoint_paths", [])]
        times = [float(t) for t in found.get("all_model_checkpoint_timestamps", [])]
        preserved = [float(t) for t in found.get("last_preserved_timestamp", [])]
    except (ValueError, TypeError):
        return None
    if not newest:
        return None
    return CheckpointState(os.path.join(folder, newest[-1]), paths, times, preserved[-1] if preserved else None)


def latest_checkpoint(checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None) -> str | None:
    """Return the prefix of the newest checkpoint of a folder, or None if the folder has no state file or the checkpoint does not exist."""
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    return state.model_checkpoint_path if state is not None and checkpoint_exists(state.model_checkpoint_path) else None


class Retention:
    """Which checkpoints are kept: the last `max_to_keep`, and of the older ones one every `every_n_hours`."""

    def __init__(self, max_to_keep: int | None, every_n_hours: float | None) -> None:
        if max_to_keep is not None and max_to_keep < 0:
            raise ValueError(f"max_to_keep must be a positive number, or 0 or None to keep all checkpoints, got {max_to_keep}")
        if every_n_hours is not None and not every_n_hours > 0:
            raise ValueError(f"keep_checkpoint_every_n_hours must be positive, got {every_n_hours}")
        self._most = max_to_keep or None
        self._gap = None if every_n_hours is None else every_n_hours * 3600
        self.last_preserved = time.time()
        self.kept: list[tuple[str, float]] = []  # prefixes and times, oldest first

    def add(self, prefix: str) -> list[str]:
        """Note a new checkpoint; return those that are to be removed when the state file no longer names them."""
        self.kept = [(p, t) for p, t in self.kept if p != prefix]
        self.kept.append((prefix, time.time()))
        removed = []
        while self._most is not None and len(self.kept) > self._most:
            old, saved_at = self.kept.pop(0)
            if self._gap is not None and saved_at - self.last_preserved >= self._gap:
                self.last_preserved = saved_at
            else:
                removed.append(old)
        return removed

    def record(self, folder: str, prefix: str, latest_filename: str | None = None, write_state: bool = True) -> None:
        """Note a new checkpoint, write the state file, then remove old checkpoints."""
        removed = self.add(prefix)
        if write_state:
            paths, times = [p for p, _ in self.kept], [t for _, t in self.kept]
            update_checkpoint_state(folder, prefix, paths, latest_filename, times, self.last_preserved)
        for old in removed:
            remove_checkpoint(old)

    def recover(self, prefixes: Sequence[str], times: Sequence[float] = ()) -> None:
        """Take over checkpoints of an earlier process, oldest first; those that do not exist are left out."""
        known = dict(zip(prefixes, times, strict=False))
        self.kept = [(p, known.get(p) or get_checkpoint_mtimes([p])[0]) for p in prefixes if checkpoint_exists(p)]
