"""Storages: `UntypedStorage`, the bytes that tensors share, and `TypedStorage`, its older interface by elements."""

from __future__ import annotations

import os

from undertow import _C
from undertow._C import UntypedStorage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from undertow import Tensor
    from undertow import device as _device
    from undertow import dtype as _dtype

__all__ = ["TypedStorage", "UntypedStorage"]


def _from_file(filename: str, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
    """Create a storage over a file's bytes. If `shared`, writes change the file, and the file is extended to `nbytes`."""
    import mmap

    with open(filename, "r+b" if shared and os.path.exists(filename) else "w+b" if shared else "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if shared and size < nbytes:
            file.truncate(nbytes)
        elif size < nbytes:
            raise RuntimeError(f"UntypedStorage.from_file: {filename} has {size} bytes, but {nbytes} are requested")
        if not nbytes:
            return UntypedStorage(0)
        return _C._storage_from_buffer(mmap.mmap(file.fileno(), nbytes, access=mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY))


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
