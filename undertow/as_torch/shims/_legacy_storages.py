"""`FloatStorage` and others: torch's names for storages of one dtype. `isinstance` checks the dtype of a TypedStorage; a call creates one."""

from __future__ import annotations

import sys

from undertow import _C
from undertow.storage import TypedStorage, UntypedStorage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_FORMS = """Expected one of:
 * no arguments
 * (int size)
 * (Sequence data)
 * (*, UntypedStorage wrap_storage)
"""


class _LegacyStorageMeta(type):
    dtype: Any

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is vars(cls).get("dtype")

    def __call__(cls, *args: Any, wrap_storage: Any = None, **more: Any) -> Any:
        if cls is _LegacyStorage:
            raise RuntimeError("Only child classes of _LegacyStorage can be instantiated")
        for name in more:
            if name not in ("device", "dtype"):
                raise TypeError(f"TypedStorage.__new__() got an unexpected keyword argument {name!r}")
            cls._refuse(f"Keyword argument {name!r} cannot be specified")
        if wrap_storage is not None:
            if args:
                cls._refuse("No positional arguments should be given when using 'wrap_storage'")
            if not isinstance(wrap_storage, UntypedStorage):
                cls._refuse(f"Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}", TypeError)
            return TypedStorage(wrap_storage=wrap_storage, dtype=cls.dtype)
        if len(args) > 1:
            cls._refuse("Too many positional arguments")
        if args and isinstance(args[0], (_C.Tensor, TypedStorage, UntypedStorage)):
            cls._refuse(f"Argument type not recognized: {type(args[0])}", TypeError)
        return TypedStorage(*args, dtype=cls.dtype)

    def _refuse(cls, why: str, kind: type[Exception] = RuntimeError) -> NoReturn:
        raise kind(f"{cls}.__new__ received an invalid combination of arguments. {_FORMS}{why}")


class _LegacyStorage(TypedStorage, metaclass=_LegacyStorageMeta):
    """The base class of the storage classes of one dtype."""

    @classmethod
    def from_buffer(cls, buffer: Any, byte_order: str | None = None, count: int = -1, offset: int = 0) -> Any:
        """Create a storage with a copy of the buffer's bytes, or of `count` elements that start at the byte `offset`."""
        size = cls.dtype.itemsize
        if byte_order is None and size == 1:
            byte_order = "native"
        if byte_order is None:
            raise RuntimeError("function missing required argument 'byte_order' (pos 2)")
        if byte_order not in ("native", "little", "big"):
            raise ValueError(f"invalid byte_order {byte_order!r} (expected 'big', 'little', or 'native')")
        data = memoryview(buffer).cast("B")[offset:]
        if count < 0 and len(data) % size:
            raise ValueError(f"buffer size ({len(data)}) must be a multiple of element size ({size})")
        if count * size > len(data):
            raise ValueError(f"buffer has only {len(data) // size} elements after offset {offset}, but specified a size of {count}")
        storage = _C._storage_from_buffer(bytes(data if count < 0 else data[: count * size]))
        if byte_order not in ("native", sys.byteorder):
            storage.byteswap(cls.dtype)
        if cls.dtype is _C.bool:
            storage = _C._tensor_over(storage, _C.uint8, 0, (storage.nbytes(),), (1,)).bool().untyped_storage()
        return TypedStorage(wrap_storage=storage, dtype=cls.dtype)

    _from_buffer = from_buffer

    @classmethod
    def _new_shared(cls, size: int) -> Any:
        return TypedStorage(wrap_storage=UntypedStorage(size * cls.dtype.itemsize).share_memory_(), dtype=cls.dtype)


def _storage(name: str, dtype: Any) -> Any:
    doc = f"Create a storage of {dtype}, from a size or a sequence."
    return _LegacyStorageMeta(name, (_LegacyStorage,), {"dtype": dtype, "__doc__": doc, "__module__": "torch"})


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
_storage_classes = {
    *(BoolStorage, ByteStorage, CharStorage, ShortStorage, IntStorage, LongStorage, HalfStorage, BFloat16Storage, FloatStorage, DoubleStorage),
    *(ComplexFloatStorage, ComplexDoubleStorage, TypedStorage, UntypedStorage),
}
