"""Starts the processes of a job and watches them: through mpiexec, or directly where the processes meet at an address.

Knows processes and their records (_processes/status.py), nothing of tensors. The command line is run.py.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

from undertow.distributed._processes import status
from undertow.distributed._stores.tcp_store import TOKEN_VARIABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

_GRACE = 6.0  # seconds for the other ranks to say what they were waiting for, after one is gone
_RANK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rank.py")


@dataclass
class Job:
    """What to start: `command` on `nodes` hosts with `nproc` processes each."""

    command: list[str]
    nproc: int
    nodes: int = 1
    node_rank: int = 0
    hostfile: str | None = None
    address: str = "127.0.0.1"
    port: int | None = None
    max_restarts: int = 0
    interval: float = 0.1
    role: str = "default"
    run_id: str = "none"
    redirects: str = "0"
    shown: str = ""
    logs: str | None = None
    signals: list[str] = field(default_factory=lambda: ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"])

    @property
    def size(self) -> int:
        """The number of processes."""
        return self.nproc * self.nodes

    @property
    def meets(self) -> bool:
        """Whether each host has a launcher of its own, as torchrun's; MPI's launcher starts all hosts from one."""
        return (self.nodes > 1 and self.hostfile is None) or mpiexec() is None


class Failure(RuntimeError):
    """The processes of a job ended with an error. The message names the ranks."""


def mpiexec() -> str | None:
    """Return MPI's launcher: that of the environment's wheel, or the system's."""
    beside = os.path.join(os.path.dirname(sys.executable), "mpiexec")
    return beside if os.path.exists(beside) else shutil.which("mpiexec")


def _free_port(address: str) -> int:
    with socket.socket() as probe:
        probe.bind((address if address in ("127.0.0.1", "localhost") else "", 0))
        return probe.getsockname()[1]


def _is_open_mpi(launcher: str) -> bool:
    """Whether the launcher is Open MPI's, whose options differ from MPICH's."""
    version = subprocess.run([launcher, "--version"], capture_output=True, text=True).stdout
    return any(name in version for name in ("Open MPI", "OpenRTE"))  # version 4 says "mpiexec (OpenRTE) 4.1.6"


def _mpi_command(job: Job, launcher: str, program: list[str]) -> list[str]:
    """Return the command that starts all ranks through MPI's launcher."""
    hosts = ["-hostfile" if _is_open_mpi(launcher) else "-f", job.hostfile] if job.hostfile else []
    if _is_open_mpi(launcher):
        extra = ["--oversubscribe", "--bind-to", "none", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])]
    else:
        extra = ["-disable-auto-cleanup", "-ppn", str(job.nproc), *([] if hosts else ["-iface", "lo"])]
    return [launcher, *extra, *hosts, "-n", str(job.size), *program]


def _environment(job: Job) -> dict[str, str]:
    variables = dict(os.environ)
    variables.setdefault(TOKEN_VARIABLE, secrets.token_hex(32))
    if job.nproc > 1:
        variables.setdefault("OMP_NUM_THREADS", "1")  # as torchrun: ranks share the cores
    if job.nodes == 1:
        variables.setdefault("UCX_TLS", "self,shm")  # MPICH then opens no port
        variables.setdefault("FI_TCP_IFACE", "lo")
    return variables


def _start(job: Job, folder: str, restarts: int) -> list[subprocess.Popen[bytes]]:
    settings = {
        "nproc": str(job.nproc),
        "role": job.role,
        "address": job.address,
        "port": str(job.port if job.port is not None else _free_port(job.address)),
        "restarts": str(restarts),
        "max_restarts": str(job.max_restarts),
        "id": job.run_id,
        "folder": folder,
        "redirects": job.redirects,
        "shown": job.shown,
        "logs": os.path.join(job.logs or folder, f"attempt_{restarts}"),
    }
    program = [sys.executable, "-I", "-S", _RANK, json.dumps(settings), *job.command]
    variables = _environment(job)
    if not job.meets:
        launcher = mpiexec()
        assert launcher is not None
        return [subprocess.Popen(_mpi_command(job, launcher, program), env=variables)]
    ranks = range(job.node_rank * job.nproc, (job.node_rank + 1) * job.nproc)
    return [subprocess.Popen(program, env={**variables, "RANK": str(rank), "WORLD_SIZE": str(job.size)}) for rank in ranks]


class _Watch:
    """Looks at the records of the ranks on this host while they run."""

    def __init__(self, job: Job, folder: str) -> None:
        self._path, self._size = os.path.join(folder, "records"), job.size
        self._records: status.Records | None = None
        self.first: list[str] = []  # what is known about the ranks that went first

    def look(self) -> bool:
        """Return True if some rank has died or raised."""
        if self._records is None and os.path.exists(self._path) and os.path.getsize(self._path) == self._size * status.RECORD:
            self._records = status.Records(self._path, self._size, -1)
        if self._records is None:
            return False
        gone = self._records.missing(range(self._size))
        failed = [rank for rank in gone if self._records.read(rank)[1] != status.ENDED]
        if failed:
            self.first = [self._records.sentence(rank) for rank in self._records.culprits(gone)]
        return bool(failed)


def _attempt(job: Job, restarts: int) -> None:
    """Run the job once; raise Failure if it does not end well."""
    with tempfile.TemporaryDirectory(prefix="undertow-run-", ignore_cleanup_errors=True) as folder:
        processes = _start(job, folder, restarts)
        watch, gone_since = _Watch(job, folder), 0.0

        def forward(number: int, frame: FrameType | None) -> None:
            for process in processes:
                process.send_signal(number)

        before = {name: signal.signal(getattr(signal, name), forward) for name in job.signals if hasattr(signal, name)}
        try:
            while any(process.poll() is None for process in processes):
                time.sleep(job.interval)
                failed = watch.look() or any(process.poll() not in (None, 0) for process in processes)
                gone_since = (gone_since or time.monotonic()) if failed else 0.0
                if failed and time.monotonic() - gone_since > _GRACE:
                    for process in processes:
                        process.terminate()
                    gone_since = float("inf")
        finally:
            for name, handler in before.items():
                signal.signal(getattr(signal, name), handler)
            for process in processes:
                if process.poll() is None:
                    process.kill()
                process.wait()
        codes = [process.returncode for process in processes]
        if any(codes):
            watch.look()
            told = watch.first or [f"the processes ended with exit code {next(code for code in codes if code)}"]
            raise Failure("; ".join(told))


def launch(job: Job) -> None:
    """Run a job; after a failure, run it again, up to `max_restarts` times. Raise Failure after the last."""
    for restarts in range(job.max_restarts + 1):
        try:
            _attempt(job, restarts)
            return
        except Failure as failure:
            left = job.max_restarts - restarts
            print(f"undertow.distributed.run: {failure}" + (f"; restarting, {left} left" if left else ""), file=sys.stderr, flush=True)
            if not left:
                raise
