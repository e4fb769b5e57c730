"""Comparison of collectives between ranks: with the debug switch on, each collective first checks that all ranks call the same one.

`TORCH_DISTRIBUTED_DEBUG=DETAIL` or `UNDERTOW_DISTRIBUTED_DEBUG=1` turns it on. It costs one exchange of 16 bytes per collective.
"""

from __future__ import annotations

import enum
import hashlib
import os

import undertow
from undertow.distributed._transports.interface import DistBackendError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from undertow.distributed._groups.groups import ProcessGroup
    from undertow.distributed._transports.interface import Transport

_HASH, _TEXT = 16, 384


class DebugLevel(enum.Enum):
    """How much the collectives check: DETAIL compares them between ranks."""

    OFF = 0
    INFO = 1
    DETAIL = 2


_level: DebugLevel | None = None


def get_debug_level() -> DebugLevel:
    """Return the level that was set, or the environment's."""
    return _level if _level is not None else _level_of_environment()


def set_debug_level(level: DebugLevel) -> None:
    """Set the level; all ranks must set the same one."""
    global _level
    _level = level


def set_debug_level_from_env() -> None:
    """Set the level that the environment names."""
    set_debug_level(_level_of_environment())


def _level_of_environment() -> DebugLevel:
    if os.environ.get("UNDERTOW_DISTRIBUTED_DEBUG", "0") not in ("", "0"):
        return DebugLevel.DETAIL
    name = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if name not in DebugLevel.__members__:
        raise RuntimeError(f"The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL, but is {name}")
    return DebugLevel[name]


def _exchange(transport: Transport, data: bytes) -> list[bytes]:
    """Return the bytes of every rank, which all have the same length."""
    mine = undertow.tensor(list(data), dtype=undertow.uint8, device=transport.device)
    rows = mine.new_empty(transport.size, len(data))
    transport.all_gather(rows, mine)
    return [bytes(row.tolist()) for row in rows]


def compare(group: ProcessGroup, transport: Transport, call: str, line: str) -> None:
    """Raise DistBackendError with both sides if the ranks of `group` do not all make the same `call`."""
    hashes = _exchange(transport, hashlib.blake2b(call.encode(), digest_size=_HASH).digest())
    if len(set(hashes)) == 1:
        return
    text = f"{call} at {line}".encode()[:_TEXT].ljust(_TEXT, b"\0")
    calls = [part.rstrip(b"\0").decode("utf-8", "replace") for part in _exchange(transport, text)]
    mine = hashes[group.rank()]
    other = next((r for r, found in enumerate(hashes) if found != mine), group.rank())
    raise DistBackendError(
        f"Detected mismatch between collectives on ranks. Rank {group.ranks[group.rank()]} is running collective: {calls[group.rank()]}, "
        f"but Rank {group.ranks[other]} is running collective: {calls[other]}."
    )
