"""Starts MPI once per process, and ends it: which ranks there are, how to find them, and what happens when this process fails.

Knows MPI and the environment; groups and tensors are above it.
"""

from __future__ import annotations

import array
import atexit
import ctypes
import fcntl
import multiprocessing
import multiprocessing.util
import os
import socket
import sys
import termios
import time
import warnings

from undertow.distributed._processes import status
from undertow.distributed._transports.mpi import MpiTransport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    from undertow.distributed._stores.store import Store

_THREAD_MULTIPLE = 3  # in the ABI of MPICH and of Open MPI
_LIBRARIES = ("libmpi.so.12", "libmpi.so.40", "libmpi.so")
_LAST_WORDS = 0.5  # seconds that an abort waits at most for mpiexec, which drops what it has not read by then, for example a traceback
_FORWARDED = 0.05  # seconds that mpiexec needs to pass on what it has read
# Rank and size, as the launchers of MPICH (and Intel MPI, Slurm) and of Open MPI give them.
_LAUNCHERS = (("PMI_RANK", "PMI_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"))

_records: status.Records | None = None
_raised = False  # the program ends by an exception
_broken = False  # a collective failed, so MPI must not wait for it at exit
_started: tuple[int, int] | None = None  # rank and size that MPI was started with here, without a launcher


def launched() -> tuple[int, int] | None:
    """Return the rank and the number of processes that an MPI launcher has started, or None if none has."""
    if _started is not None:
        return None
    for rank, size in _LAUNCHERS:
        if rank in os.environ and size in os.environ:
            return int(os.environ[rank]), int(os.environ[size])
    return None


def mpi_module() -> Any:
    """Import mpi4py without starting MPI; raise with the remedy if it cannot be used."""
    try:
        import mpi4py

        mpi4py.rc(initialize=False, finalize=False)
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise RuntimeError(
            f"init_process_group: several processes need mpi4py and an MPI library: pip install 'undertow[mpi]' mpich ({error})"
        ) from None
    return MPI


def available() -> bool:
    """Return True if mpi4py is installed; whether it finds an MPI library shows when it is loaded."""
    from importlib.util import find_spec

    return find_spec("mpi4py") is not None


def start(rank: int, size: int, store: Store | None, timeout: float) -> MpiTransport:
    """Return the transport of all processes, with this process as `rank`. MPI finds the others by its launcher, or through `store`."""
    global _started
    mpi = mpi_module()
    if not mpi.Is_initialized():
        if store is not None and launched() is None:
            from undertow.distributed._processes.wire_up import wire_up

            if "Open MPI" in mpi.Get_library_version():
                raise RuntimeError("init_process_group: with Open MPI, start the program by mpiexec or by python -m undertow.distributed.run")
            wire_up(store, rank, size)
            _started = rank, size
        _initialize(mpi)
        _watch_exit(mpi)
    if mpi.Is_finalized():
        raise RuntimeError("init_process_group: MPI has ended in this process and cannot start again")
    whole = mpi.COMM_WORLD
    if whole.Get_size() != size:
        raise ValueError(f"init_process_group: world_size is {size}, but MPI has started {whole.Get_size()} processes")
    mine = whole.Split(0, rank)
    if mine.Get_rank() != rank:
        raise ValueError(f"init_process_group: rank {rank} was given to several processes")
    return MpiTransport(mpi, mine, timeout, _shared_records(mpi, mine), list(range(size)))


# Note [MPI Without The GIL]
# mpi4py keeps the GIL in MPI_Init and MPI_Finalize. Without a launcher, a thread of this process answers the questions that MPI asks there
# (wire_up.py), so both are called through ctypes, which releases it.
def _library() -> Any:
    """Return the MPI library that mpi4py has loaded, or None if it has another name."""
    for name in _LIBRARIES:
        try:
            return ctypes.CDLL(name, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
        except OSError:
            continue
    return None


def _initialize(mpi: Any) -> None:
    library = _library()
    if library is None:
        mpi.Init_thread(mpi.THREAD_MULTIPLE)
    else:
        library.MPI_Init_thread(None, None, _THREAD_MULTIPLE, ctypes.byref(ctypes.c_int()))


def _finalize(mpi: Any) -> None:
    library = _library()
    if library is None:
        mpi.Finalize()
    else:
        library.MPI_Finalize()


def _shared_records(mpi: Any, comm: Any) -> status.Records | None:
    """Map the records of the processes on this host."""
    host = comm.Split_type(mpi.COMM_TYPE_SHARED)
    leader = host.Get_rank() == 0
    path, kept = host.bcast(status.fresh_path() if leader else None, root=0)
    _map_records(path, comm.Get_size(), comm.Get_rank())
    host.Barrier()
    if leader and not kept:
        _remove(path)  # the memory stays mapped
    host.Free()
    return _records


def _map_records(path: str, size: int, rank: int) -> None:
    global _records
    try:
        _records = status.Records(path, size, rank)
    except OSError as error:
        warnings.warn(f"init_process_group: messages will not name ranks that fail: {error}", stacklevel=2)
        _records = None


def _remove(path: str) -> None:
    if os.path.exists(path):
        os.unlink(path)
        os.rmdir(os.path.dirname(path))


def start_without_mpi(rank: int, size: int, store: Store) -> None:
    """Share the records of the processes on this host, which meet in `store`, and watch how this process ends."""
    if _records is not None:
        return  # a group was made before
    path, kept = status.fresh_path()
    chosen = store.compare_set(f"records/{socket.gethostname()}", "", path).decode()
    _map_records(chosen, size, rank)
    if chosen == path and not kept:
        atexit.register(_remove, path)
    elif not kept:
        os.rmdir(os.path.dirname(path))
    _watch_exit(None)


def began(text: str) -> None:
    """Note the collective that this process begins, for the others to read."""
    if _records is not None:
        _records.began(f"{text} at {status.line_of_caller()}")


def records() -> status.Records | None:
    """Return what the ranks did last, if the processes of this host share it."""
    return _records


def last() -> str:
    """Return this process's last collective and its line."""
    return "none" if _records is None else _records.read(_records.rank)[3]


def _watch_exit(mpi: Any) -> None:
    """End MPI, if there is any, at exit; if the program ends by an exception, tell the others and do not wait for them."""
    before = sys.excepthook

    def failed(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        before(kind, error, traceback)
        _note_failure(error)

    def end() -> None:
        error = sys.exc_info()[1]  # of a process that multiprocessing started, which ends by this error
        if error is not None and not (isinstance(error, SystemExit) and not error.code):
            _note_failure(error.__context__ or error)
        if mpi is not None and mpi.Is_finalized():
            return
        sys.stdout.flush()
        sys.stderr.flush()
        if _records is not None and not _raised:
            _records.ended()
        if mpi is None:
            return
        if _raised and _started is None:
            _wait_for_readers()
            mpi.COMM_WORLD.Abort(1)  # mpiexec ends the other processes
        elif not (_raised or _broken):
            _finalize(mpi)

    sys.excepthook = failed
    if multiprocessing.parent_process() is None:
        atexit.register(end)
    else:  # these processes end without atexit
        multiprocessing.util.Finalize(None, end, exitpriority=10)


def _wait_for_readers() -> None:
    """Wait until what this process has printed was read from the pipes to its launcher."""
    end = time.monotonic() + _LAST_WORDS
    for stream in (sys.__stdout__, sys.__stderr__):
        unread = array.array("i", [0])
        try:
            while stream is not None and time.monotonic() < end:
                fcntl.ioctl(stream.fileno(), termios.FIONREAD, unread)
                if not unread[0]:
                    break
                time.sleep(_FORWARDED / 10)
        except (OSError, ValueError):  # no pipe: a file, or closed
            continue
    time.sleep(_FORWARDED)


def _note_failure(error: BaseException) -> None:
    """Tell the other ranks, and the user, that the program ends here by an exception."""
    global _raised
    if _raised:
        return
    _raised = True
    if _records is not None:
        rank, text = _records.rank, _records.read(_records.rank)[3]
        kind = type(error).__name__
        _records.failed(f"{kind}: {error}".splitlines()[0])
        print(f"[rank {rank}] raised {kind}; its last collective: {text}", file=sys.stderr, flush=True)


def broke() -> None:
    """Remember that a collective failed: its communicator cannot be used any more."""
    global _broken
    _broken = True
