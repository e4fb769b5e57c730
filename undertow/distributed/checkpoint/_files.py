"""The files of a checkpoint: safetensors files, and an index that says which of them has which tensor.

Note [A Checkpoint Is Its Index]
Each save writes files under new names; the index replaces the previous one last, by a rename, which is atomic. Until then a reader finds
the previous checkpoint, whole; after it the new one. Files that no index names are deleted after that. The index has Hugging Face's form
(`weight_map`); what is not a tensor is in its metadata, which their tools ignore.
"""

from __future__ import annotations

import json
import os
import re

from undertow.serialization import _safetensors
from undertow.serialization._source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

INDEX = "model.safetensors.index.json"
_VALUES = "undertow.values"
_SHARD = re.compile(r"model-[0-9a-f]{16}-\d{5}-of-\d{5}\.safetensors(\.part)?")
_LARGEST_INDEX = 1 << 30


class FileSystemWriter:
    """Where `save` writes: a folder."""

    def __init__(self, path: str | os.PathLike[str], **options: Any) -> None:
        self.path = os.fspath(path)


class FileSystemReader:
    """Where `load` reads: a folder."""

    def __init__(self, path: str | os.PathLike[str], **options: Any) -> None:
        self.path = os.fspath(path)


def folder_of(checkpoint_id: Any, storage: Any) -> str:
    """Return the folder that the arguments of save or load name."""
    if checkpoint_id is None and storage is None:
        raise ValueError("checkpoint: checkpoint_id, the folder, must be given")
    return os.fspath(checkpoint_id) if checkpoint_id is not None else storage.path


def shard_name(save_id: str, rank: int, size: int) -> str:
    """Return the name of the file of one rank."""
    return f"model-{save_id}-{rank + 1:05d}-of-{size:05d}.safetensors"


def _synced(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_shard(folder: str, name: str, tensors: dict[str, Tensor]) -> None:
    """Write the tensors of one rank; the file has its name once it is complete."""
    path = os.path.join(folder, name)
    with open(path + ".part", "wb") as file:
        _safetensors.save(file, tensors, {"format": "pt"})
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".part", path)


def write_index(folder: str, where: dict[str, str], total: int, values: dict[str, Any]) -> None:
    """Make the files a checkpoint, in place of the previous one, whose files are deleted."""
    index = {"metadata": {"total_size": total, _VALUES: values}, "weight_map": dict(sorted(where.items()))}
    path = os.path.join(folder, INDEX)
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(index, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".part", path)
    _synced(folder)
    kept = set(where.values())
    for name in os.listdir(folder):
        if _SHARD.fullmatch(name) and name not in kept:
            os.unlink(os.path.join(folder, name))


def read_index(folder: str) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the file of each tensor, and the values that are not tensors. Every name is checked: files are in the folder."""
    path = os.path.join(folder, INDEX)
    if not os.path.exists(path):
        raise FileNotFoundError(f"load: there is no checkpoint in {folder}: it has no {INDEX}")
    if os.path.getsize(path) > _LARGEST_INDEX:
        raise RuntimeError(f"load: {path} is larger than an index can be")
    with open(path, encoding="utf-8") as file:
        index = json.load(file)
    where = index.get("weight_map") if isinstance(index, dict) else None
    if not isinstance(where, dict) or not all(isinstance(name, str) and os.path.basename(name) == name for name in where.values()):
        raise RuntimeError(f"load: {path} is not an index: weight_map must name files in the folder")
    metadata = index.get("metadata")
    values = metadata.get(_VALUES, {}) if isinstance(metadata, dict) else {}
    return where, values if isinstance(values, dict) else {}


class Tensors:
    """The tensors of a safetensors file, mapped into memory: only what is read is loaded."""

    def __init__(self, path: str) -> None:
        with open(path, "rb") as file:
            self._tensors = _safetensors.load(Source(file, mapped=True), lambda storage, place: storage)
        if not isinstance(self._tensors, dict):
            raise RuntimeError(f"load: {path} does not have tensors by name")

    def __getitem__(self, name: str) -> Tensor:
        return self._tensors[name]

    def __contains__(self, name: str) -> bool:
        return name in self._tensors
