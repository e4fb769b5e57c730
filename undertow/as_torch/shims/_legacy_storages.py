"""`FloatStorage` and others: torch's names for storages of one dtype. `isinstance` checks the dtype of a TypedStorage; a call creates one."""

from __future__ import annotations

from undertow import _C
from undertow.storage import TypedStorage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _StorageMeta(type):
    dtype: Any

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype

    def from_buffer(cls, buffer: Any, byte_order: str = "native", **more: Any) -> Any:
        """Create a storage with a copy of the buffer's bytes."""
        if byte_order not in ("native", "little"):
            raise ValueError(f"from_buffer: the byte order {byte_order!r} is not supported; this machine is little-endian")
        return TypedStorage(wrap_storage=_C._storage_from_buffer(bytes(buffer)), dtype=cls.dtype)

    _from_buffer = from_buffer

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return TypedStorage(*args, dtype=cls.dtype, **kwargs)


def _storage(name: str, dtype: Any) -> Any:
    doc = f"Create a storage of {dtype}, from a size or a sequence."
    return _StorageMeta(name, (), {"dtype": dtype, "__doc__": doc, "__module__": "torch"})


BoolStorage: Any = _storage("BoolStorage", _C.bool)
ByteStorage: Any = _storage("ByteStorage", _C.uint8)
CharStorage: Any = _storage("CharStorage", _C.int8)
ShortStorage: Any = _storage("ShortStorage", _C.int16)
IntStorage: Any = _storage("IntStorage", _C.int32)
LongStorage: Any = _storage("LongStorage", _C.int64)
HalfStorage: Any = _storage("HalfStorage", _C.float16)
BFloat16Storage: Any = _storage("BFloat16Storage", _C.bfloat16)
FloatStorage: Any = _storage("FloatStorage", _C.float32)
DoubleStorage: Any = _storage("DoubleStorage", _C.float64)
ComplexFloatStorage: Any = _storage("ComplexFloatStorage", _C.complex64)
ComplexDoubleStorage: Any = _storage("ComplexDoubleStorage", _C.complex128)
Storage = FloatStorage
