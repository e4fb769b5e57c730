"""Storages: `UntypedStorage`, the bytes that tensors share, and `TypedStorage`, its older interface by elements."""

from __future__ import annotations

import os
import weakref

from undertow import _C
from undertow._C import UntypedStorage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

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


class TypedStorage:
    """A storage viewed as elements of one dtype.

    >>> import undertow as ut
    >>> s = ut.tensor([1.0, 2.0]).storage()
    >>> len(s), s[1], s.dtype
    (2, 2.0, undertow.float32)
    """

    dtype: _dtype

    def __init__(
        self, *args: Any, wrap_storage: UntypedStorage | None = None, dtype: _dtype | None = None
    ) -> None:
        self.dtype = _C.get_default_dtype() if dtype is None else dtype
        if wrap_storage is None:
            wrap_storage = self._made_from(*args)
        self._untyped_storage = wrap_storage

    def _made_from(self, *args: Any) -> UntypedStorage:
        if not args:
            return UntypedStorage(0)
        if len(args) == 1 and isinstance(args[0], int):
            return UntypedStorage(args[0] * self.dtype.itemsize)
        if len(args) == 1:
            return _C.tensor(args[0], dtype=self.dtype).untyped_storage()
        raise TypeError(f"TypedStorage takes a size or a sequence, got {len(args)} arguments")

    def _as_tensor(self) -> Tensor:
        return _C._tensor_over(self._untyped_storage, self.dtype, 0, (self.size(),), (1,))

    def untyped(self) -> UntypedStorage:
        """Return the untyped storage."""
        return self._untyped_storage

    @property
    def device(self) -> _device:
        """The device of the storage."""
        return self._untyped_storage.device

    def size(self) -> int:
        """Return the number of elements."""
        return self._untyped_storage.nbytes() // self.dtype.itemsize

    def __len__(self) -> int:
        return self.size()

    def nbytes(self) -> int:
        """Return the number of bytes."""
        return self._untyped_storage.nbytes()

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
        return self._as_tensor().tolist()

    def clone(self) -> TypedStorage:
        """Return a copy."""
        return type(self)(wrap_storage=self._untyped_storage.clone(), dtype=self.dtype)

    def copy_(self, source: TypedStorage, non_blocking: bool | None = None) -> TypedStorage:
        """Copy the elements of another storage of the same size, with conversion."""
        self._as_tensor().copy_(source._as_tensor())
        return self

    def fill_(self, value: Any) -> TypedStorage:
        """Set every element."""
        self._as_tensor().fill_(value)
        return self

    def resize_(self, size: int) -> TypedStorage:
        """Change the number of elements."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)
        return self

    def is_shared(self) -> bool:
        """Return True if the memory is shared with forked processes."""
        return self._untyped_storage.is_shared()

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self.tolist()[index] if not isinstance(index, int) else self._at(index).item()

    def __setitem__(self, index: Any, value: Any) -> None:
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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedStorage) and self.tolist() == other.tolist()

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __repr__(self) -> str:
        lines = "".join(f" {value}\n" for value in self.tolist())
        return (
            f"{lines}[undertow.storage.TypedStorage(dtype={self.dtype}, device={self.device}) "
            f"of size {self.size()}]"
        )
