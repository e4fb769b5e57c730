"""Storages: `UntypedStorage`, the bytes that tensors share, and `TypedStorage`, its older interface by elements.

The functions that start with `_untyped_` are methods of UntypedStorage; _tensor_methods.py sets them on the C type.
"""

from __future__ import annotations

import os
import sys
import weakref

from undertow import _C
from undertow._C import UntypedStorage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, NoReturn

    from undertow import Tensor
    from undertow import device as _device
    from undertow import dtype as _dtype

__all__ = ["TypedStorage", "UntypedStorage"]  # from_file is undertow.from_file


_mapped: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()  # the shared mappings that are in use, by address


def _from_file(filename: str, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
    """Create a storage over a file's bytes. If `shared`, writes change the file, and the file is extended to `nbytes`."""
    import mmap

    with open(filename, "r+b" if shared and os.path.exists(filename) else "w+b" if shared else "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if shared and size < nbytes:
            file.truncate(nbytes)
        elif size < nbytes:
            raise RuntimeError(f"from_file: {filename} has {size} bytes, but {nbytes} are requested")
        if not nbytes:
            return UntypedStorage(0)
        mapping = _mapping()(file.fileno(), nbytes, access=mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY)
        storage = _C._storage_from_buffer(mapping)
        if shared:
            mapping.filename = filename
            _mapped[storage.data_ptr()] = mapping
        return storage


def _mapping() -> Any:
    """Return a class of mappings that have a file name and can be referred to weakly; the module mmap is loaded only if it is used."""
    import mmap

    global _Mapping
    if _Mapping is None:
        _Mapping = type("_Mapping", (mmap.mmap,), {})
    return _Mapping


_Mapping: Any = None


def _filename(storage: UntypedStorage) -> str | None:
    """Return the name of the file that the storage shares its bytes with, or None."""
    return getattr(_mapped.get(storage.data_ptr()), "filename", None) if _mapped else None


def from_file(
    filename: str, shared: bool | None = None, size: int = 0, *, dtype: _dtype | None = None, layout: Any = None,
    device: _device | str | None = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:
    """Create a tensor of `size` elements over the bytes of a file. If `shared`, writes change the file, which is created or extended as needed.

    Otherwise the file must be long enough, and writes stay in this process.

    >>> import os, tempfile
    >>> import undertow as ut
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers")
    >>> _ = ut.from_file(path, shared=True, size=3, dtype=ut.int16).copy_(ut.tensor([1, 2, 3]))
    >>> ut.from_file(path, size=2, dtype=ut.int16)
    tensor([1, 2], dtype=undertow.int16)
    """
    if pin_memory:
        raise RuntimeError("tensors constructed from a file cannot be pinned")
    if size < 0:
        raise RuntimeError(f"from_file: size must not be negative, got {size}")
    if layout not in (None, _C.strided) or _C.device("cpu" if device is None else device).type != "cpu":
        raise NotImplementedError(f"from_file: only dense tensors on the CPU can be made from a file, got layout={layout}, device={device}")
    dtype = _C.get_default_dtype() if dtype is None else dtype
    storage = _from_file(os.fspath(filename), bool(shared), size * dtype.itemsize)
    return _C._tensor_over(storage, dtype, 0, (size,), (1,)).requires_grad_(requires_grad)


def _from_buffer(buffer: Any, dtype: _dtype = _C.uint8, byte_order: str | None = None, count: int = -1, offset: int = 0) -> UntypedStorage:
    """Create a storage with a copy of the buffer's bytes, or of `count` elements that start at the byte `offset`."""
    size = dtype.itemsize
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
        _untyped_byteswap(storage, dtype)
    if dtype is _C.bool:
        storage = _C._tensor_over(storage, _C.uint8, 0, (storage.nbytes(),), (1,)).bool().untyped_storage()
    return storage


_FORMS = """Expected one of:
 * (*, torch.device device, torch.dtype dtype)
 * (int size, *, torch.device device, torch.dtype dtype)
 * (Sequence data, *, torch.device device, torch.dtype dtype)
 * (*, UntypedStorage wrap_storage, torch.dtype dtype)
"""
_CASTS = {  # the methods that convert a storage, with the dtype of their result
    **{name: name for name in ("bfloat16", "bool", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")},
    "byte": "uint8", "char": "int8", "short": "int16", "int": "int32", "long": "int64", "half": "float16", "float": "float32",
    "double": "float64", "complex_float": "complex64", "complex_double": "complex128",
}


class TypedStorage:
    """A storage viewed as elements of one dtype.

    >>> import undertow as ut
    >>> s = ut.tensor([1.0, 2.0]).storage()
    >>> len(s), s[1], s.dtype
    (2, 2.0, undertow.float32)
    """

    dtype: _dtype
    is_sparse = False
    is_hpu = False

    def __init__(
        self, *args: Any, device: _device | str | None = None, dtype: _dtype | None = None, wrap_storage: UntypedStorage | None = None
    ) -> None:
        if wrap_storage is not None:
            _check_wrapping(args, device, dtype, wrap_storage)
        elif dtype is not None and not isinstance(dtype, _C.dtype):
            raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
        if len(args) > 1:
            _refuse("Too many positional arguments")
        self.dtype = _C.get_default_dtype() if dtype is None else dtype
        self._untyped_storage = self._made_from(device, *args) if wrap_storage is None else wrap_storage

    def _made_from(self, device: _device | str | None, data: Any = 0) -> UntypedStorage:
        if isinstance(data, int):
            return UntypedStorage(data * self.dtype.itemsize, device=device)
        if isinstance(data, str):
            raise TypeError(f"new(): invalid data type {type(data).__name__!r}")
        if isinstance(data, (_C.Tensor, TypedStorage, UntypedStorage)) or not hasattr(data, "__getitem__"):
            _refuse(f"Argument type not recognized: {type(data)}", TypeError)
        return _C.tensor(data, dtype=self.dtype, device=device).untyped_storage()

    def _as_tensor(self) -> Tensor:
        return _C._tensor_over(self._untyped_storage, self.dtype, 0, (self.size(),), (1,))

    def untyped(self) -> UntypedStorage:
        """Return the untyped storage."""
        return self._untyped_storage

    @property
    def device(self) -> _device:
        """The device of the storage."""
        return self._untyped_storage.device

    def get_device(self) -> int:
        """Return the number of the GPU, or -1."""
        return _untyped_get_device(self._untyped_storage)

    @property
    def is_cuda(self) -> bool:
        """Whether the storage is on a GPU."""
        return self._untyped_storage.is_cuda

    @property
    def filename(self) -> str | None:
        """The file that shares the bytes, or None."""
        return self._untyped_storage.filename

    def size(self) -> int:
        """Return the number of elements."""
        return self._untyped_storage.nbytes() // self.dtype.itemsize

    def __len__(self) -> int:
        return self.size()

    def nbytes(self) -> int:
        """Return the number of bytes."""
        return self._untyped_storage.nbytes()

    def __sizeof__(self) -> int:
        return super().__sizeof__() + self.nbytes()

    def element_size(self) -> int:
        """Return the size of one element in bytes."""
        return self.dtype.itemsize

    def data_ptr(self) -> int:
        """Return the address of the first element."""
        return self._untyped_storage.data_ptr()

    def _cdata_of(self) -> int:
        return self._untyped_storage._cdata

    _cdata = property(_cdata_of)

    def tolist(self) -> list[Any]:
        """Return the elements as a list."""
        self._check_memory()
        return self._as_tensor().tolist()

    def clone(self) -> TypedStorage:
        """Return a copy."""
        return self._over(self._untyped_storage.clone())

    __copy__ = clone

    def _over(self, storage: UntypedStorage) -> TypedStorage:
        return TypedStorage(wrap_storage=storage, dtype=self.dtype)

    def copy_(self, source: TypedStorage | UntypedStorage, non_blocking: bool | None = None) -> TypedStorage:
        """Copy the bytes of another storage of the same size."""
        self._untyped_storage.copy_(source.untyped())
        return self

    def fill_(self, value: Any) -> TypedStorage:
        """Set every element."""
        self[:] = value
        return self

    def resize_(self, size: int) -> TypedStorage:
        """Change the number of elements."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)
        return self

    def resizable(self) -> bool:
        """Return True if the number of elements can change."""
        return self._untyped_storage.resizable()

    def is_shared(self) -> bool:
        """Return True if the memory is shared with forked processes."""
        return self._untyped_storage.is_shared()

    def share_memory_(self) -> TypedStorage:
        """Move the elements to memory that is shared with forked processes."""
        self._untyped_storage.share_memory_()
        return self

    def is_pinned(self, device: Any = "cuda") -> bool:
        """Return True if a GPU can copy the memory directly."""
        return self._untyped_storage.is_pinned()

    def pin_memory(self, device: Any = "cuda") -> TypedStorage:
        """Return a copy in memory of the host that a GPU can copy directly."""
        return self._over(self._untyped_storage.pin_memory())

    def cuda(self, device: Any = None, non_blocking: bool = False) -> TypedStorage:
        """Return a storage with the same elements on a GPU, the current one by default."""
        return self._over(self._untyped_storage.cuda(device))

    def to(self, *, device: Any, non_blocking: bool = False) -> TypedStorage:
        """Return a storage with the same elements on a device."""
        return self._over(self._untyped_storage.to(device))

    def cpu(self) -> TypedStorage:
        """Return a storage on the CPU over the same elements."""
        return self._over(self._untyped_storage.cpu())

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """Return the name of the storage's type, or, given the name of another type, the elements converted to it."""
        if dtype is None:
            place = "torch.cuda" if self.is_cuda else "torch"
            return f"{place}.{_PICKLED[str(self.dtype).rpartition('.')[2]]}"
        wanted = next((kind for kind, name in _PICKLED.items() if name == str(dtype).rpartition(".")[2]), None)
        if wanted is None:
            raise ValueError(f"TypedStorage.type: not a type of storages: {dtype!r}")
        return _converted(self._as_tensor(), wanted)

    def pickle_storage_type(self) -> str:
        """Return the name of the storage's type in a pickle: FloatStorage for float32."""
        return _PICKLED[str(self.dtype).rpartition(".")[2]]

    def _check_memory(self) -> None:
        if self.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device type")

    def __getitem__(self, index: Any) -> Any:
        self._check_memory()
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if not isinstance(index, int):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        return self._at(index).item()

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(value, (TypedStorage, UntypedStorage)):
            raise RuntimeError(f"cannot set item with value type {type(value)}")
        if not isinstance(index, (int, slice)):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        if isinstance(index, slice):
            self._as_tensor()[index] = value
        else:
            self._at(index).fill_(value)

    def _at(self, index: int) -> Tensor:
        if not -self.size() <= index < self.size():
            raise IndexError(f"index {index} out of range for storage of size {self.size()}")
        at = index % self.size()
        return _C._tensor_over(self._untyped_storage, self.dtype, at, (), ())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __repr__(self) -> str:
        lines = "...\n" if self.device.type == "meta" else "".join(f" {value}\n" for value in self.tolist())
        package = str(self.dtype).partition(".")[0]  # torch under as_torch
        return f"{lines}[{package}.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {self.size()}]"


_PICKLED = {
    "float64": "DoubleStorage", "float32": "FloatStorage", "float16": "HalfStorage", "bfloat16": "BFloat16Storage",
    "int64": "LongStorage", "int32": "IntStorage", "int16": "ShortStorage", "int8": "CharStorage", "uint8": "ByteStorage", "bool": "BoolStorage",
    "complex64": "ComplexFloatStorage", "complex128": "ComplexDoubleStorage",
}


def _refuse(why: str, kind: type[Exception] = RuntimeError) -> NoReturn:
    raise kind(f"TypedStorage.__init__ received an invalid combination of arguments. {_FORMS}{why}")


def _check_wrapping(args: Any, device: Any, dtype: Any, storage: Any) -> None:
    if args:
        _refuse("No positional arguments should be given when using 'wrap_storage'")
    if dtype is None:
        _refuse("Argument 'dtype' must be specified")
    if not isinstance(dtype, _C.dtype):
        _refuse(f"Argument 'dtype' must be torch.dtype, not {type(dtype)}", TypeError)
    if device is not None:
        _refuse("Argument 'device' should not be specified when 'wrap_storage' is given")
    if not isinstance(storage, UntypedStorage):
        _refuse(f"Argument 'wrap_storage' must be UntypedStorage, but got {type(storage)}", TypeError)


def _converted(elements: Tensor, dtype: str) -> TypedStorage:
    """Return a new storage with the elements converted to a dtype."""
    wanted = getattr(_C, dtype)
    return TypedStorage(wrap_storage=elements.to(wanted, copy=True).untyped_storage(), dtype=wanted)


def _cast(name: str, dtype: str) -> Callable[[TypedStorage], TypedStorage]:
    def cast(self: TypedStorage) -> TypedStorage:
        return _converted(self._as_tensor(), dtype)

    cast.__name__, cast.__qualname__ = name, f"TypedStorage.{name}"
    cast.__doc__ = f"Return a storage with the elements converted to {dtype}."
    return cast


for _name, _dtype_name in _CASTS.items():
    setattr(TypedStorage, _name, _cast(_name, _dtype_name))


def _untyped_cast(self: UntypedStorage, name: str) -> TypedStorage:
    """Return a typed storage with the bytes converted to a dtype, one element for each byte."""
    return _converted(_C._tensor_over(self, _C.uint8, 0, (self.nbytes(),), (1,)), _CASTS[name])


def _untyped_byteswap(self: UntypedStorage, dtype: _dtype) -> None:
    """Reverse the order of the bytes of every element of a dtype; of every half of an element, if the dtype is complex."""
    size = dtype.itemsize // (2 if dtype.is_complex else 1)
    if self.nbytes() % size:
        raise RuntimeError(f"byteswap: the storage has {self.nbytes()} bytes, which is not a multiple of {size}")
    elements = _C._tensor_over(self, _C.uint8, 0, (self.nbytes() // size, size), (size, 1))
    elements.copy_(elements.flip(1))


def _untyped_iter(self: UntypedStorage) -> Iterator[int]:
    return iter(self.tolist())


def _untyped_get_device(self: UntypedStorage) -> int:
    """Return the number of the GPU, or -1."""
    return (self.device.index or 0) if self.is_cuda else -1


def _untyped_new(self: UntypedStorage) -> UntypedStorage:
    """Return an empty storage of the same class on the same device."""
    return type(self)(0, device=self.device)


def _untyped_deepcopy(self: UntypedStorage, memo: dict[int, Any]) -> UntypedStorage:
    """Copy the storage; tensors over it that are copied in the same pass share the copy."""
    from copy import deepcopy

    if self.device.type == "meta":
        return self.clone()
    from undertow._pickle import buffer_of_storage, storage_of_buffer

    return storage_of_buffer(deepcopy(buffer_of_storage(self), memo))


def _untyped_reduce_ex(self: UntypedStorage, protocol: Any = None) -> tuple[Any, ...]:
    from undertow._pickle import buffer_of_storage, storage_of_buffer

    return storage_of_buffer, (buffer_of_storage(self),)
