"""The source of bytes: a path, a file object or a mapped file, with positions and a known size.

Note [Sizes From Files]: Lengths and positions in a file cannot be trusted. Each is compared with the actual size of
the file before memory is allocated for it, and everything read at once is in disjoint ranges of the file, so that loading uses at
most a small multiple of the file's size. Until they are checked, numbers remain Python ints, which do not overflow.
"""

from __future__ import annotations

import io
import mmap
import os

from undertow._C import UntypedStorage, _storage_from_buffer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any

    from typing_extensions import TypeIs


class Source:
    """The bytes of `file` from its current position to its end. Positions are relative to that."""

    def __init__(self, file: IO[bytes], mapped: bool = False) -> None:
        self._file = file
        self._start = file.tell()
        file.seek(0, os.SEEK_END)
        self.size = file.tell() - self._start
        file.seek(self._start)
        self._map: memoryview | None = None
        if mapped and self.size:
            self._map = self._mapping(writable=True)

    def _mapping(self, writable: bool) -> memoryview:
        access = mmap.ACCESS_COPY if writable else mmap.ACCESS_READ  # copy: writes stay in this process
        return memoryview(mmap.mmap(self._file.fileno(), 0, access=access))[self._start :]

    def check(self, at: int, count: int, what: str) -> None:
        """Raise if a range is outside the file. See Note [Sizes From Files]."""
        if at < 0 or count < 0 or at + count > self.size:
            raise RuntimeError(
                f"load: the file is truncated or corrupt: {what} should be at bytes {at} to {at + count}, but the file has {self.size}"
            )

    def read(self, at: int, count: int, what: str) -> bytes:
        """Return a copy of some bytes."""
        self.check(at, count, what)
        if self._map is not None:
            return bytes(self._map[at : at + count])
        self._file.seek(self._start + at)
        data = self._file.read(count)
        if len(data) != count:
            raise RuntimeError(f"load: the file ended inside {what}: {count} bytes expected, {len(data)} read")
        return data

    def storage(self, at: int, count: int, what: str) -> UntypedStorage:
        """Return some bytes as a storage: a copy, or the memory of the mapped file."""
        self.check(at, count, what)
        if self._map is not None:
            return _storage_from_buffer(self._map[at : at + count])
        storage = UntypedStorage(count)
        if count:
            self._file.seek(self._start + at)
            self._fill(memoryview(storage), what)
        return storage

    def _fill(self, view: memoryview, what: str) -> None:
        readinto = getattr(self._file, "readinto", None)
        done = 0
        while done < len(view):
            if readinto is not None:
                got = readinto(view[done:])
            else:
                data = self._file.read(len(view) - done)
                got = len(data)
                view[done : done + got] = data
            if not got:
                raise RuntimeError(f"load: the file ended inside {what}: {len(view)} bytes expected, {done} read")
            done += got

    def whole(self) -> memoryview:
        """Return all bytes, read-only: mapped if possible, otherwise read."""
        if self._map is not None:
            return self._map.toreadonly()
        if isinstance(getattr(self._file, "raw", self._file), io.FileIO):  # others, such as gzip's, have the file number of a file with other bytes
            try:
                return self._mapping(writable=False)
            except (OSError, ValueError):
                pass
        return memoryview(self.read(0, self.size, "the file"))

    def moved_to(self, at: int) -> None:
        """Move the position of the file object past the data that was read."""
        self._file.seek(self._start + at)


def is_path(f: Any) -> TypeIs[str | os.PathLike[str]]:
    """Return True if `f` is a path, not a file object."""
    return isinstance(f, (str, os.PathLike))
