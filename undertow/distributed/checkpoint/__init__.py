"""Checkpoints of models that several processes share: `save`, `load` and `async_save`, in files that safetensors' readers read."""

from undertow.distributed.checkpoint import state_dict as state_dict
from undertow.distributed.checkpoint._files import FileSystemReader, FileSystemWriter
from undertow.distributed.checkpoint._load import load
from undertow.distributed.checkpoint._save import async_save, save

__all__ = ["FileSystemReader", "FileSystemWriter", "async_save", "load", "save", "state_dict"]
