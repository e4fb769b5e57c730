"""Key-value stores that the processes of a job share, with torch's methods: in memory, in a file, or under a prefix of another store.

TCPStore is in tcp_store.py. Values are bytes; a store never interprets what it holds.
"""

from __future__ import annotations

import fcntl
import os
import struct
import threading
import time
from abc import ABC, abstractmethod
from datetime import timedelta

from undertow.distributed._stores.table import Table
from undertow.distributed._transports.interface import DistStoreError, QueueEmptyError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from io import FileIO

DEFAULT_TIMEOUT = timedelta(seconds=300)


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


def _key(key: str) -> bytes:
    if not isinstance(key, str) or "\0" in key:
        raise TypeError(f"a key of a store is a str without zero bytes, but got {key!r}")
    return key.encode()


class Store(ABC):
    """The methods that all stores have. `get` and `wait` wait until another process has set the keys."""

    _timeout = DEFAULT_TIMEOUT

    @abstractmethod
    def _run(self, command: str, arguments: list[bytes], timeout: float) -> list[bytes] | None:
        """Run a command of table.py; return None if its keys are not there within `timeout` seconds."""

    def _answer(self, command: str, *arguments: bytes) -> list[bytes]:
        found = self._run(command, list(arguments), 0)
        assert found is not None, f"{command} does not wait"
        return found

    def _awaited(self, command: str, keys: Sequence[str], timeout: timedelta | None = None) -> list[bytes]:
        limit = self._timeout if timeout is None else timeout
        found = self._run(command, [_key(key) for key in keys], limit.total_seconds())
        if found is None:
            raise DistStoreError(f"wait timeout after {limit.total_seconds() * 1000:.0f}ms, keys: {', '.join('/' + key for key in keys)}")
        return found

    @property
    def timeout(self) -> timedelta:
        """How long `get` and `wait` wait."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Change how long `get` and `wait` wait."""
        self._timeout = timeout

    def set(self, key: str, value: str | bytes) -> None:
        """Set the value of a key."""
        self._answer("set", _key(key), _bytes(value))

    def get(self, key: str) -> bytes:
        """Return the value of a key, once it is set."""
        return self._awaited("get", [key])[0]

    def add(self, key: str, amount: int) -> int:
        """Add to a number, which begins at 0, and return the sum."""
        return int(self._answer("add", _key(key), str(int(amount)).encode())[0])

    def append(self, key: str, value: str | bytes) -> None:
        """Append to the value of a key."""
        self._answer("append", _key(key), _bytes(value))

    def check(self, keys: Sequence[str]) -> bool:
        """Return True if all keys are set."""
        return bool(self._answer("check", *(_key(key) for key in keys))[0])

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        """Set a key if its value is the expected one (or if it is not set and "" is expected); return its value then."""
        return self._answer("compare_set", _key(key), _bytes(expected_value), _bytes(desired_value))[0]

    def delete_key(self, key: str) -> bool:
        """Delete a key; return whether it was set."""
        return bool(self._answer("delete", _key(key))[0])

    def list_keys(self) -> list[str]:
        """Return all keys."""
        return [key.decode() for key in self._answer("keys")]

    def num_keys(self) -> int:
        """Return the number of keys."""
        return len(self.list_keys())

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys are set; raise DistStoreError after the timeout."""
        self._awaited("wait", keys, timeout)

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """Return the values of several keys, once they are set."""
        return self._awaited("get", keys)

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Set several keys at once."""
        if len(keys) != len(values):
            raise ValueError(f"multi_set: {len(keys)} keys, but {len(values)} values")
        self._answer("set", *(part for key, value in zip(keys, values) for part in (_key(key), _bytes(value))))

    def queue_push(self, key: str, value: str | bytes) -> None:
        """Add a value to the end of a queue."""
        self._answer("push", _key(key), _bytes(value))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the first value of a queue, waiting for one if `block` is True."""
        found = self._run("pop", [_key(key)], self._timeout.total_seconds() if block else 0)
        if found is None:
            raise QueueEmptyError(f"queue_pop: the queue {key} is empty")
        return found[0]

    def queue_len(self, key: str) -> int:
        """Return the length of a queue."""
        return int(self._answer("length", _key(key))[0])

    def has_extended_api(self) -> bool:
        """Return True: append, multi_get and multi_set exist."""
        return True

    @abstractmethod
    def clone(self) -> Store:
        """Return another handle of the same store, for another thread."""


class Shared:
    """A table that several threads use."""

    def __init__(self) -> None:
        self._table = Table()
        self._changed = threading.Condition()  # guards the table

    def run(self, command: str, arguments: list[bytes], timeout: float) -> list[bytes] | None:
        """Run a command, waiting up to `timeout` seconds for its keys."""
        end = time.monotonic() + timeout
        with self._changed:
            while (found := self._table.run(command, arguments)) is None:
                left = end - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    return self._table.run(command, arguments)
            self._changed.notify_all()
            return found


class HashStore(Store):
    """A store in the memory of this process, for its threads.

    >>> store = HashStore()
    >>> store.set("color", "blue")
    >>> store.get("color"), store.add("count", 2), store.add("count", 3)
    (b'blue', 2, 5)
    """

    def __init__(self) -> None:
        self._shared = Shared()

    def _run(self, command: str, arguments: list[bytes], timeout: float) -> list[bytes] | None:
        return self._shared.run(command, arguments, timeout)

    def clone(self) -> HashStore:
        """Return another handle of the same store."""
        other = HashStore()
        other._shared, other._timeout = self._shared, self._timeout
        return other


class PrefixStore(Store):
    """The keys of another store that begin with `prefix/`."""

    def __init__(self, prefix: str, store: Store) -> None:
        self._prefix, self._store = prefix, store
        self._timeout = store.timeout

    @property
    def underlying_store(self) -> Store:
        """The store that has the keys."""
        return self._store

    def _run(self, command: str, arguments: list[bytes], timeout: float) -> list[bytes] | None:
        start = f"{self._prefix}/".encode()
        if command == "keys":
            return [key[len(start) :] for key in self._store._answer("keys") if key.startswith(start)]
        every = {"set": 2, "get": 1, "wait": 1, "check": 1}.get(command, len(arguments) or 1)  # each how-many-th argument is a key
        named = [start + part if place % every == 0 else part for place, part in enumerate(arguments)]
        return self._store._run(command, named, timeout)

    def clone(self) -> PrefixStore:
        """Return another handle of the same store."""
        return PrefixStore(self._prefix, self._store.clone())


class FileStore(Store):
    """A store in a file that processes on one host (or on a shared file system with locks) write to."""

    _RECORD = struct.Struct("<Iq")  # length of the key, length of the value or -1 if the key is deleted
    _PAUSE = 0.01  # seconds between looks at the file

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        self._path = os.fspath(file_name)
        self._table, self._read = Table(), 0
        self._lock = threading.Lock()  # guards _table and _read
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))

    @property
    def path(self) -> str:
        """The path of the file."""
        return self._path

    def _run(self, command: str, arguments: list[bytes], timeout: float) -> list[bytes] | None:
        end = time.monotonic() + timeout
        while True:
            with self._lock, open(self._path, "r+b", buffering=0) as file:
                fcntl.flock(file, fcntl.LOCK_EX)  # released when the file is closed
                file.seek(self._read)
                self._catch_up(file.read())
                before = dict(self._table)
                found = self._table.run(command, arguments)
                self._append(file, before)
            if found is not None or time.monotonic() >= end:
                return found
            time.sleep(self._PAUSE)

    def _catch_up(self, data: bytes) -> None:
        """Apply the records that other processes have written."""
        position = 0
        while position < len(data):
            key_length, value_length = self._RECORD.unpack_from(data, position)
            position += self._RECORD.size
            key = data[position : position + key_length].decode()
            position += key_length
            if value_length < 0:
                self._table.pop(key, None)
            else:
                self._table[key] = data[position : position + value_length]
                position += value_length
        self._read += position

    def _append(self, file: FileIO, before: dict[str, bytes]) -> None:
        """Write what a command has changed."""
        records = b""
        for key in before.keys() | self._table.keys():
            value = self._table.get(key)
            if value != before.get(key):
                name = key.encode()
                records += self._RECORD.pack(len(name), -1 if value is None else len(value)) + name + (value or b"")
        if records:
            file.seek(0, os.SEEK_END)
            file.write(records)
            self._read += len(records)

    def clone(self) -> FileStore:
        """Return another handle of the same file."""
        return FileStore(self._path)
