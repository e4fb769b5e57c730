"""Connects processes that no MPI launcher has started: answers MPICH's questions at start-up from a store that they share.

MPICH asks its launcher over a socket (`PMI_FD`) in PMI's first protocol, lines of `cmd=... key=value`: publish an address, read the
addresses of the others, wait for everybody. Here a thread of this process answers them. Open MPI asks in another protocol (PMIx); its
programs need `mpiexec`.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import threading
from datetime import timedelta

from undertow.distributed._stores.store import PrefixStore
from undertow.distributed._transports.interface import DistError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from undertow.distributed._stores.store import Store

_ONE_HOST = {"UCX_TLS": "self,shm", "FI_TCP_IFACE": "lo"}  # no port is open if all processes are on one host
_LAST = timedelta(seconds=10)  # that rank 0 waits for the others at the end
_kept: list[socket.socket] = []  # MPICH writes to it until the process ends


def _blocks(hosts: list[str]) -> str:
    """Return which ranks are on which host, in PMI's notation: (first host, hosts, ranks on each) for each run of ranks.

    >>> _blocks(["a", "a", "b", "b", "b"])
    '(vector,(0,1,2),(1,1,3))'
    """
    numbers: dict[str, int] = {}
    runs: list[list[int]] = []
    for host in hosts:
        number = numbers.setdefault(host, len(numbers))
        if runs and runs[-1][0] == number:
            runs[-1][1] += 1
        else:
            runs.append([number, 1])
    return "(vector," + ",".join(f"({number},1,{count})" for number, count in runs) + ")"


class _Answers:
    """The launcher's side of the conversation for one rank."""

    def __init__(self, store: Store, job: str, rank: int, size: int, mapping: str) -> None:
        self._store, self._job, self._rank, self._size, self._mapping = store, job, rank, size, mapping
        self._barriers = 0

    def answer(self, line: str) -> str:
        words = dict(word.split("=", 1) for word in line.split() if "=" in word)
        command = words.get("cmd", "")
        try:
            return self._answer(command, words)
        except DistError:  # MPI reports an error; without an answer it would crash
            return f"cmd={command} rc=-1 msg=the_store_is_gone"

    def _answer(self, command: str, words: dict[str, str]) -> str:
        if command == "init":
            return "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0"
        if command == "get_maxes":
            return "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024 rc=0"
        if command == "get_appnum":
            return "cmd=appnum appnum=0 rc=0"
        if command == "get_my_kvsname":
            return f"cmd=my_kvsname kvsname={self._job} rc=0"
        if command == "get_universe_size":
            return f"cmd=universe_size size={self._size} rc=0"
        if command == "put":
            self._store.set(words["key"], words["value"])
            return "cmd=put_result rc=0"
        if command == "get":
            return self._get(words["key"])
        if command == "barrier_in":
            self._barrier()
            return "cmd=barrier_out rc=0"
        if command == "finalize":
            self._leave()
            return "cmd=finalize_ack rc=0"
        return f"cmd={command} rc=-1 msg=unknown_command"

    def _get(self, key: str) -> str:
        if key == "PMI_process_mapping":
            return f"cmd=get_result rc=0 value={self._mapping}"
        if not self._store.check([key]):
            return "cmd=get_result rc=-1 msg=unknown_key"
        return f"cmd=get_result rc=0 value={self._store.get(key).decode()}"

    def _barrier(self) -> None:
        self._barriers += 1
        if self._store.add(f"arrived/{self._barriers}", 1) == self._size:
            self._store.set(f"open/{self._barriers}", "")
        self._store.wait([f"open/{self._barriers}"])

    def _leave(self) -> None:
        """Let rank 0 end last: its process usually serves the store, and the others may still wait for answers."""
        with contextlib.suppress(DistError):
            if self._rank == 0:
                self._store.wait([f"left/{rank}" for rank in range(1, self._size)], _LAST)
            else:
                self._store.set(f"left/{self._rank}", "")


def wire_up(store: Store, rank: int, size: int) -> None:
    """Prepare this process so that MPI_Init finds the others through `store`. Call it before MPI starts, and start MPI without the GIL."""
    own = PrefixStore("mpi", store.clone())
    own.set(f"host/{rank}", socket.gethostname())
    if rank == 0:
        own.set("job", f"undertow-{secrets.token_hex(8)}")  # MPICH names its shared memory after it
    hosts = [name.decode() for name in own.multi_get([f"host/{r}" for r in range(size)])]
    if len(set(hosts)) == 1:
        for name, value in _ONE_HOST.items():
            os.environ.setdefault(name, value)
    ours, mpis = socket.socketpair()
    _kept.append(mpis)
    os.environ.update(PMI_FD=str(mpis.fileno()), PMI_RANK=str(rank), PMI_SIZE=str(size))
    answers = _Answers(own, own.get("job").decode(), rank, size, _blocks(hosts))

    def serve() -> None:
        with ours, ours.makefile("rw", encoding="utf-8", newline="\n") as stream:
            for line in stream:
                stream.write(answers.answer(line) + "\n")
                stream.flush()

    threading.Thread(target=serve, name="undertow-mpi-start", daemon=True).start()
