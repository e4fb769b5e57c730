"""Names of torch.serialization that are not in undertow.serialization."""

import enum
import io
import os
import sys
from collections.abc import Callable
from typing import IO, Any, TypeAlias

import undertow
from undertow.serialization import _torch_zip

__all__ = [
    "DEFAULT_PROTOCOL", "FILE_LIKE", "LoadEndianness", "MAP_LOCATION", "STORAGE", "SourceChangeWarning", "_maybe_decode_ascii",
    "check_module_version_greater_or_equal", "get_default_load_endianness", "set_default_load_endianness",
]  # fmt: skip

DEFAULT_PROTOCOL = 2  # of the pickle in a file

# For annotations.
FILE_LIKE: TypeAlias = str | os.PathLike[str] | IO[bytes] | io.BytesIO
MAP_LOCATION: TypeAlias = Callable[[Any, str], Any] | undertow.device | str | dict[str, str] | None
STORAGE: TypeAlias = undertow.storage.TypedStorage | undertow.storage.UntypedStorage


class SourceChangeWarning(Warning):
    """The category of torch's warnings that the source of a saved class has changed; Undertow gives none."""


class LoadEndianness(enum.Enum):
    """The byte order that is assumed for files that do not record theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


_assumed: LoadEndianness | None = None


def get_default_load_endianness() -> LoadEndianness | None:
    """Return what `set_default_load_endianness` has set, or None."""
    return _assumed


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Set the byte order that `load` assumes for files that do not record theirs."""
    global _assumed
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _assumed = endianness
    order = "little" if endianness is None else sys.byteorder if endianness is LoadEndianness.NATIVE else endianness.name.lower()
    _torch_zip.assumed_order = order.encode()


def check_module_version_greater_or_equal(module: Any, req_version_tuple: tuple[int, ...], error_if_malformed: bool = True) -> bool:
    """Return True if a module's version is at least the required one."""
    try:
        version = tuple(kind(part) for kind, part in zip(map(type, req_version_tuple), module.__version__.split("."), strict=False))
    except Exception as error:
        if error_if_malformed:
            raise RuntimeError(f"'{module.__name__}' module version string is malformed '{module.__version__}'") from error
        return True
    return version >= req_version_tuple


def _maybe_decode_ascii(text: bytes | str) -> str:
    return text.decode("ascii") if isinstance(text, bytes) else text
