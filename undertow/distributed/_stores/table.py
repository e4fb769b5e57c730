"""The commands of a store on a dictionary: what each of the stores of store.py and tcp_store.py computes. Knows neither files nor sockets."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_QUEUE = "\0queue\0"  # begins the keys under which queues are kept; programs cannot use it: their keys have no zero byte


class Table(dict[str, bytes]):
    """The keys and values of a store. A command returns None if the key it needs is not there yet."""

    def run(self, command: str, arguments: list[bytes]) -> list[bytes] | None:
        """Run a command that a process has asked for."""
        function = _COMMANDS.get(command)
        if function is None:
            raise ValueError(f"a store has no command {command!r}")
        return function(self, arguments)


def _set(table: Table, pairs: list[bytes]) -> list[bytes]:
    for key, value in zip(pairs[::2], pairs[1::2]):
        table[key.decode()] = value
    return []


def _get(table: Table, keys: list[bytes]) -> list[bytes] | None:
    names = [key.decode() for key in keys]
    return [table[name] for name in names] if all(name in table for name in names) else None


def _wait(table: Table, keys: list[bytes]) -> list[bytes] | None:
    return [] if all(key.decode() in table for key in keys) else None


def _check(table: Table, keys: list[bytes]) -> list[bytes]:
    return [b"1" if all(key.decode() in table for key in keys) else b""]


def _add(table: Table, arguments: list[bytes]) -> list[bytes]:
    key, amount = arguments[0].decode(), int(arguments[1])
    table[key] = str(int(table.get(key, b"0")) + amount).encode()
    return [table[key]]


def _append(table: Table, arguments: list[bytes]) -> list[bytes]:
    key = arguments[0].decode()
    table[key] = table.get(key, b"") + arguments[1]
    return []


def _compare_set(table: Table, arguments: list[bytes]) -> list[bytes]:
    key, expected, desired = arguments[0].decode(), arguments[1], arguments[2]
    if key not in table and expected:
        return [expected]
    if table.get(key, b"") == expected:
        table[key] = desired
    return [table[key]]


def _delete(table: Table, arguments: list[bytes]) -> list[bytes]:
    return [b"1" if table.pop(arguments[0].decode(), None) is not None else b""]


def _keys(table: Table, arguments: list[bytes]) -> list[bytes]:
    return [key.encode() for key in table if not key.startswith(_QUEUE)]


def _waiting(table: Table, key: bytes) -> list[str]:
    return json.loads(table.get(_QUEUE + key.decode(), b"[]"))


def _push(table: Table, arguments: list[bytes]) -> list[bytes]:
    key, value = arguments
    table[_QUEUE + key.decode()] = json.dumps([*_waiting(table, key), value.hex()]).encode()
    return []


def _pop(table: Table, arguments: list[bytes]) -> list[bytes] | None:
    items = _waiting(table, arguments[0])
    if not items:
        return None
    table[_QUEUE + arguments[0].decode()] = json.dumps(items[1:]).encode()
    return [bytes.fromhex(items[0])]


def _length(table: Table, arguments: list[bytes]) -> list[bytes]:
    return [str(len(_waiting(table, arguments[0]))).encode()]


_COMMANDS: dict[str, Callable[[Table, list[bytes]], list[bytes] | None]] = {
    "set": _set,
    "get": _get,
    "wait": _wait,
    "check": _check,
    "add": _add,
    "append": _append,
    "compare_set": _compare_set,
    "delete": _delete,
    "keys": _keys,
    "push": _push,
    "pop": _pop,
    "length": _length,
}
