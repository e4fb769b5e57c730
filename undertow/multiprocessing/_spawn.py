"""`spawn` and `start_processes`: run a function in several processes; the first failure is raised in the parent."""

from __future__ import annotations

import multiprocessing
import signal
import time
import traceback
from multiprocessing.connection import wait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class ProcessException(Exception):
    """A process failed; has its index and process id."""

    error_pid: int

    def __init__(self, message: str, error_index: int, pid: int) -> None:
        super().__init__(message)
        self.msg = message
        self.error_index = error_index
        self.pid = self.error_pid = pid

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """A process raised an exception."""


class ProcessExitedException(ProcessException):
    """A process was killed by a signal, or exited with a nonzero code."""

    def __init__(self, message: str, error_index: int, pid: int, exit_code: int, signal_name: str | None = None) -> None:
        super().__init__(message, error_index, pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def _run(fn: Callable[..., Any], index: int, args: tuple[Any, ...], errors: Any) -> None:
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass
    except Exception:
        errors.send(traceback.format_exc())
        raise SystemExit(1) from None


class ProcessContext:
    """The started processes; `join` waits for them."""

    def __init__(self, processes: list[Any], errors: list[Any]) -> None:
        self.processes = processes
        self._errors = errors
        self._running = dict(enumerate(processes))

    def pids(self) -> list[int]:
        """Return the process ids."""
        return [p.pid for p in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until all processes end, one fails, or the timeout expires. A failure ends the others and raises. Return True if all succeeded."""
        if not self._running:
            return True
        wait([p.sentinel for p in self._running.values()], timeout)
        failed = None
        for index, process in list(self._running.items()):
            if process.exitcode is None:
                continue
            del self._running[index]
            if process.exitcode != 0 and failed is None:
                failed = index
        if failed is None:
            return not self._running
        self._end_others(grace_period)
        self._raise(failed)
        return False

    def _end_others(self, grace_period: float | None) -> None:
        if grace_period:
            deadline = time.monotonic() + grace_period
            for process in self._running.values():
                process.join(max(0.0, deadline - time.monotonic()))
        for process in self._running.values():
            if process.is_alive():
                process.terminate()
            process.join(30)
            if process.is_alive():
                process.kill()
                process.join()
        self._running.clear()

    def _raise(self, index: int) -> None:
        process, errors = self.processes[index], self._errors[index]
        code = process.exitcode
        if errors.poll():
            try:
                text = errors.recv()
            except EOFError:
                text = None
            if text is not None:
                message = f"\n\n-- Process {index} terminated with the following error:\n{text}"
                raise ProcessRaisedException(message, index, process.pid)
        if code < 0:
            name = signal.Signals(-code).name
            raise ProcessExitedException(f"process {index} terminated with signal {name}", index, process.pid, code, name)
        raise ProcessExitedException(f"process {index} terminated with exit code {code}", index, process.pid, code)


def start_processes(
    fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False, start_method: str = "spawn"
) -> ProcessContext | None:
    """Run `fn(i, *args)` in `nprocs` processes; with join=False, return a `ProcessContext` to wait for."""
    context: Any = multiprocessing.get_context(start_method)  # of a class that has Process, for every method
    processes, errors = [], []
    for i in range(nprocs):
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(fn, i, args, theirs), daemon=daemon)
        process.start()
        theirs.close()
        processes.append(process)
        errors.append(ours)
    started = ProcessContext(processes, errors)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False, start_method: str = "spawn"
) -> ProcessContext | None:
    """Run `start_processes` with new interpreters."""
    if start_method != "spawn":
        raise ValueError(f"spawn: start_method must be 'spawn', got {start_method!r}; start_processes supports others")
    return start_processes(fn, args, nprocs, join, daemon, start_method)
