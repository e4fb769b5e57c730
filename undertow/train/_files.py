"""Files of checkpoints: safetensors, written so that a crash leaves the old file or the new one, and read one tensor at a time.

A checkpoint is named by its prefix, "model.ckpt-100"; its file is the prefix with ".safetensors". Nothing in a file is run.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from uuid import uuid4

from undertow.serialization import _safetensors
from undertow.serialization._api import default_restore_location
from undertow.serialization._source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import undertow
    from undertow._C import Tensor

SUFFIX = ".safetensors"
_ABOUT = "undertow.train"


def write_safely(path: str, write: Any) -> None:
    """Write a file in full, or not at all: to a temporary file in the same folder, flushed to the disk, then renamed.

    The folder is flushed as well, so that what is written later is never on the disk without this.
    """
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise ValueError(f"Parent directory of {path} doesn't exist, can't save.")
    temporary = os.path.join(folder, f".{os.path.basename(path)}.{uuid4().hex}.tmp")
    try:
        with open(temporary, "xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_checkpoint(prefix: str, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
    """Write the tensors and a description, which is stored as JSON in the file's metadata."""
    for name, t in tensors.items():
        if not _safetensors._plain(name, t):
            raise ValueError(f"save: {name!r} of dtype {t.dtype} cannot be stored in a safetensors file")
    metadata = {"format": "pt", _ABOUT: json.dumps(about)}
    write_safely(prefix + SUFFIX, lambda file: _safetensors.save(file, tensors, metadata))


def prefix_of(path: Any) -> str:
    """Return the prefix for a prefix or for the path of the file."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"expected the path of a checkpoint, got {type(path).__name__}; there are no sessions, so no argument comes before the path")
    return os.fspath(path).removesuffix(SUFFIX)


def checkpoint_exists(checkpoint_prefix: str | os.PathLike[str]) -> bool:
    """Return True if there is a checkpoint with this prefix."""
    return os.path.isfile(prefix_of(checkpoint_prefix) + SUFFIX)


def remove_checkpoint(checkpoint_prefix: str | os.PathLike[str]) -> None:
    """Remove the file of a checkpoint, if it exists."""
    Path(prefix_of(checkpoint_prefix) + SUFFIX).unlink(missing_ok=True)


def get_checkpoint_mtimes(checkpoint_prefixes: Any) -> list[float]:
    """Return the times, in seconds, at which these checkpoints were last changed, without those that do not exist."""
    return [os.path.getmtime(prefix_of(p) + SUFFIX) for p in checkpoint_prefixes if checkpoint_exists(p)]


class CheckpointReader:
    """The names and shapes in a checkpoint; a tensor is read when it is asked for. See `load_checkpoint`."""

    def __init__(self, checkpoint_prefix: str | os.PathLike[str]) -> None:
        self._prefix = prefix_of(checkpoint_prefix)
        if not checkpoint_exists(self._prefix):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {self._prefix}: there is no file {self._prefix}{SUFFIX}")
        with open(self._prefix + SUFFIX, "rb") as file:
            self._entries, metadata, self._data = _safetensors.read_header(Source(file))
        about: Any = None
        try:
            about = json.loads(metadata.get(_ABOUT, "{}"))
        except (ValueError, RecursionError) as error:
            raise RuntimeError(f"{self._prefix}{SUFFIX}: its description is not valid JSON: {error}") from error
        self.about: dict[str, Any] = about if isinstance(about, dict) else {}

    @property
    def prefix(self) -> str:
        """The checkpoint's prefix."""
        return self._prefix

    def has_tensor(self, tensor_str: str) -> bool:
        """Return True if there is a tensor with this name."""
        return tensor_str in self._entries

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """Return the shapes by name."""
        return {name: list(entry["shape"]) for name, entry in self._entries.items()}

    def get_variable_to_dtype_map(self) -> dict[str, undertow.dtype]:
        """Return the dtypes by name."""
        return {name: _safetensors._DTYPES[entry["dtype"]] for name, entry in self._entries.items()}

    def get_tensor(self, tensor_str: str) -> Tensor:
        """Return the tensor with this name, read from the file."""
        return self.get_tensors([tensor_str])[tensor_str]

    def get_tensors(self, names: Any) -> dict[str, Tensor]:
        """Return several tensors by name; a missing one raises before any is read."""
        names = list(names)
        missing = [name for name in names if name not in self._entries]
        if missing:
            known = ", ".join(sorted(self._entries)[:20])
            raise ValueError(f"Key {missing[0]} not found in checkpoint {self._prefix}; it has {len(self._entries)} names: {known}")
        with open(self._prefix + SUFFIX, "rb") as file:
            source = Source(file)
            again, _, data = _safetensors.read_header(source)
            if again != self._entries:
                raise RuntimeError(f"{self._prefix}{SUFFIX} was replaced after it was opened; open it again")
            return {n: _safetensors._tensor(source, default_restore_location, n, self._entries[n], data) for n in names}


def with_step(prefix: str, global_step: int | None) -> str:
    """Return the prefix with a step, as in "model.ckpt-100"."""
    return prefix if global_step is None else f"{prefix}-{global_step}"


def step_of(prefix: str) -> int | None:
    """Return the number at the end of a prefix, or None."""
    found = re.search(r"-(\d+)$", prefix)
    return int(found[1]) if found else None
