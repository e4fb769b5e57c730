"""What each process of the job did last: one record per rank in memory that the processes of a host share.

A process that waits reads the records of the others: a rank that died, raised or ended is named with its last collective and its line,
and nobody waits for it until the timeout. The launcher reads the same records. Records of other hosts cannot be read and stay empty.
"""

from __future__ import annotations

import mmap
import os
import struct
import sys
import tempfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

RECORD = 512
_HEAD = struct.Struct("<qqqH")  # process id, state, number of the collective, length of the text
_ROOM = RECORD - _HEAD.size
GRACE = 2.0  # seconds that a message of a process that has ended may still take
NEVER, RUNNING, ENDED, FAILED = range(4)
FOLDER_VARIABLE = "UNDERTOW_RUN_FOLDER"  # the launcher sets it, to read the records of processes that are gone
_PACKAGE = os.path.abspath(__file__).removesuffix(os.path.join("distributed", "_processes", "status.py"))


def line_of_caller() -> str:
    """Return file:line of the innermost frame outside Undertow."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (frame.f_code.co_filename.startswith(_PACKAGE) or frame.f_code.co_filename.startswith("<frozen")):
        frame = frame.f_back
    return "no line of the program" if frame is None else f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


class Records:
    """The records of `size` ranks in a file that is mapped into memory."""

    def __init__(self, path: str, size: int, rank: int) -> None:
        self.path, self.size, self.rank = path, size, rank
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        try:
            os.ftruncate(descriptor, size * RECORD)
            self._memory = mmap.mmap(descriptor, size * RECORD)
        finally:
            os.close(descriptor)
        self._count = 0
        self._text = b"no collective yet"
        if rank >= 0:
            self._write(RUNNING)

    def _write(self, state: int) -> None:
        text = self._text[:_ROOM]
        start = self.rank * RECORD
        self._memory[start : start + _HEAD.size + len(text)] = _HEAD.pack(os.getpid(), state, self._count, len(text)) + text

    def began(self, text: str) -> None:
        """Note the collective that this process begins."""
        self._count += 1
        self._text = text.encode()
        self._write(RUNNING)

    def ended(self) -> None:
        """Note that this process will take part in no more collectives."""
        self._write(ENDED)

    def failed(self, why: str) -> None:
        """Note that this process raised."""
        self._text = b"%s; it raised %s" % (self._text, why.encode())
        self._write(FAILED)

    def read(self, rank: int) -> tuple[int, int, int, str]:
        """Return the process id, the state, the number of collectives and the text of a rank."""
        start = rank * RECORD
        pid, state, count, length = _HEAD.unpack_from(self._memory, start)
        text = self._memory[start + _HEAD.size : start + _HEAD.size + length]
        return pid, state, count, text.decode("utf-8", "replace")

    def sentence(self, rank: int) -> str:
        """Return what is known about a rank, as a sentence."""
        pid, state, _, text = self.read(rank)
        if state == NEVER:
            return f"rank {rank} is on another host or did not start"
        if state == FAILED:
            return f"rank {rank} failed; last collective: {text}"
        if state == ENDED:
            return f"rank {rank} has ended; last collective: {text}"
        alive = _alive(pid)
        return f"rank {rank} (process {pid}) {'runs' if alive else 'died'}; last collective: {text}"

    def missing(self, ranks: Sequence[int]) -> list[int]:
        """Return those of `ranks` that died, failed or ended."""
        gone = []
        for rank in ranks:
            pid, state, _, _ = self.read(rank)
            if rank != self.rank and (state in (ENDED, FAILED) or (state == RUNNING and not _alive(pid))):
                gone.append(rank)
        return gone

    def culprits(self, ranks: Sequence[int]) -> list[int]:
        """Return those of `ranks`, which are all gone, that most likely failed first.

        They raised another error than the one of waiting for a rank; or they ended or died in an earlier collective than the others.
        """
        found = {rank: self.read(rank) for rank in ranks}
        raised = [rank for rank, (_, state, _, text) in found.items() if state == FAILED and "it raised DistBackendError" not in text]
        if raised:
            return raised
        silent = {rank: count for rank, (_, state, count, _) in found.items() if state != FAILED} or {r: found[r][2] for r in found}
        return [rank for rank, count in silent.items() if count == min(silent.values())]

    def behind(self, ranks: Sequence[int]) -> list[int]:
        """Return those of `ranks` that have begun fewer collectives than this process, or are not known."""
        mine = self._count
        return [rank for rank in ranks if rank != self.rank and (self.read(rank)[1] == NEVER or self.read(rank)[2] < mine)]


def story(records: Records | None, ranks: Sequence[int], what: str, named: Sequence[int]) -> str:
    """Return the text of an error: what happened here, and what the records say about `named`, or else about all other ranks."""
    if records is None:
        return what
    here = records.read(records.rank)[3]
    others = [records.sentence(rank) for rank in (named or [r for r in ranks if r != records.rank])[:8]]
    return "\n  ".join([f"{what}: rank {records.rank} is in {here}.", *others])


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:  # a process that ended, but that its parent has not noticed, is gone too
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return stat.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return True


def fresh_path() -> tuple[str, bool]:
    """Return a new path for the records, and whether they are for the launcher as well (who then removes them)."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder and os.path.isdir(folder):
        return os.path.join(folder, "records"), True
    return os.path.join(tempfile.mkdtemp(prefix="undertow-"), "records"), False
