"""Names of torch.storage that are not in undertow.storage: base classes, and tables of the storage classes of one dtype."""

from __future__ import annotations

import io

import undertow
from undertow import storage
from undertow.as_torch.shims._legacy_storages import _LegacyStorage, _LegacyStorageMeta

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "Storage", "_LegacyStorage", "_LegacyStorageMeta", "_StorageBase", "_dtype_to_storage_type_map", "_get_dtype_from_pickle_storage_type",
    "_get_storage_from_sequence", "_load_from_bytes", "_storage_type_to_dtype_map", "_warn_typed_storage_removal",
]  # fmt: skip

_StorageBase = storage.UntypedStorage
Storage = storage.TypedStorage | storage.UntypedStorage


def _dtype_to_storage_type_map() -> dict[Any, str]:
    return {getattr(undertow, dtype): name for dtype, name in storage._PICKLED.items()}


def _storage_type_to_dtype_map() -> dict[str, Any]:
    return {name: dtype for dtype, name in _dtype_to_storage_type_map().items()}


def _get_dtype_from_pickle_storage_type(name: str) -> Any:
    try:
        return _storage_type_to_dtype_map()[name]
    except KeyError:
        raise KeyError(f"pickle storage type {name!r} is not recognized") from None


def _get_storage_from_sequence(sequence: Any, dtype: Any, device: Any) -> Any:
    """Return the untyped storage of the elements of a sequence."""
    return undertow.tensor(sequence, dtype=dtype, device=device).untyped_storage()


def _load_from_bytes(data: bytes) -> Any:
    """Load what torch.save wrote to these bytes."""
    return undertow.load(io.BytesIO(data))


def _warn_typed_storage_removal(stacklevel: int = 2) -> None:
    """Do nothing: TypedStorage is not going to be removed."""
