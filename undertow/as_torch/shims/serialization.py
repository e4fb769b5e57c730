"""Names of torch.serialization that are not in undertow.serialization."""

import io
import os
from collections.abc import Callable
from typing import IO, Any, TypeAlias

import undertow

__all__ = ["DEFAULT_PROTOCOL", "FILE_LIKE", "MAP_LOCATION", "STORAGE"]

DEFAULT_PROTOCOL = 2  # of the pickle in a file

# For annotations.
FILE_LIKE: TypeAlias = str | os.PathLike[str] | IO[bytes] | io.BytesIO
MAP_LOCATION: TypeAlias = Callable[[Any, str], Any] | undertow.device | str | dict[str, str] | None
STORAGE: TypeAlias = undertow.storage.TypedStorage | undertow.storage.UntypedStorage
