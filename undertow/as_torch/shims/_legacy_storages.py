"""`FloatStorage` and others: torch's names for storages of one dtype. `isinstance` checks the dtype of a TypedStorage; a call creates one."""

from __future__ import annotations

from undertow import _C
from undertow.storage import TypedStorage, UntypedStorage, _from_buffer

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
        return TypedStorage(wrap_storage=_from_buffer(buffer, cls.dtype, byte_order, count, offset), dtype=cls.dtype)

    _from_buffer = from_buffer

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, size: int = 0) -> Any:
        """Create a storage over a file's first `size` elements; see `UntypedStorage.from_file`."""
        return TypedStorage(wrap_storage=UntypedStorage.from_file(filename, shared, size * cls.dtype.itemsize), dtype=cls.dtype)

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
