"""The parent's side of a DataLoader's worker processes: starts them, distributes indices, puts batches in order.

Each worker has its own two sockets and no lock is shared. A worker that dies cannot block others, and is always noticed: its
sockets close.
"""

from __future__ import annotations

import itertools
import os
import signal
import socket
import time
import weakref
from multiprocessing.connection import wait

from undertow.utils.data import _worker
from undertow.utils.data._transport import packed, receive, send

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_GRACE = 5.0  # seconds that a worker has to exit by itself


class _Handle:
    """One worker process and the parent's ends of its sockets."""

    def __init__(self, process: Any, tasks: socket.socket, results: socket.socket) -> None:
        self.process = process
        self.tasks = tasks
        self.results = results
        self.active = True  # whether it may get tasks


def _stop(handles: list[_Handle], owner: int) -> None:
    """Stop the workers. A fork of the parent has copies of the handles, and must not stop them."""
    if os.getpid() != owner:
        return
    for h in handles:
        h.tasks.close()
        h.results.close()  # a worker that is still sending gets an error, and exits
    deadline = time.monotonic() + _GRACE
    for h in handles:
        h.process.join(max(0.0, deadline - time.monotonic()))
    for h in handles:
        if h.process.is_alive():
            h.process.terminate()
            h.process.join(_GRACE)
        if h.process.is_alive():
            h.process.kill()
            h.process.join()
        h.process.close()
    handles.clear()


class WorkerPool:
    """The processes of one loader, from the first epoch until they are stopped or garbage-collected."""

    def __init__(self, loader: Any, make_fetcher: Callable[[], _worker.Fetcher], base_seed: int) -> None:
        self._handles: list[_Handle] = []
        self._finish = weakref.finalize(self, _stop, self._handles, os.getpid())
        self._given: dict[int, _Handle] = {}  # tasks without a result yet
        self._ready: dict[int, Any] = {}
        self._timeout = loader.timeout
        self._in_order = loader.in_order
        context = loader.multiprocessing_context
        if context is None:
            import multiprocessing as context
        forks = context.get_start_method() == "fork"
        for i in range(loader.num_workers):
            tasks, their_tasks = socket.socketpair()
            results, their_results = socket.socketpair()
            others = [s for h in self._handles for s in (h.tasks, h.results)] + [tasks, results] if forks else []
            args = (their_tasks, their_results, others, make_fetcher, base_seed, i, loader.num_workers, loader.worker_init_fn, loader.dataset)
            process = context.Process(target=_worker.run, args=args, daemon=True)
            process.start()
            their_tasks.close()
            their_results.close()
            results.settimeout(loader.timeout or None)
            self._handles.append(_Handle(process, tasks, results))
        self._begin()

    def _begin(self) -> None:
        self._numbers = itertools.count()
        self._wanted = 0  # the number of the task whose batch is next
        self._given.clear()
        self._ready.clear()
        self._turns = itertools.cycle(self._handles)
        for h in self._handles:
            h.active = True

    def resume(self) -> None:
        """Start another epoch with the same processes."""
        while self._given:
            self._receive()
        self._begin()
        for h in self._handles:
            self._send(h, _worker.Resumed())
        while self._given:
            self._receive()
        for result in self._ready.values():
            if isinstance(result, _worker.Failure):
                self.stop()
                result.reraise()
        self._begin()

    def stop(self) -> None:
        """Stop the processes and wait for them."""
        self._finish()
        self._given.clear()
        self._ready.clear()

    @property
    def stopped(self) -> bool:
        """Whether the processes have been stopped."""
        return not self._handles

    @property
    def pids(self) -> list[int]:
        """Return the process ids."""
        return [h.process.pid for h in self._handles]

    def give(self, index: Any) -> bool:
        """Give indices to the next worker; return False if no worker accepts tasks."""
        for _ in self._handles:
            h = next(self._turns)
            if h.active:
                self._send(h, index)
                return True
        return False

    def _send(self, h: _Handle, index: Any) -> None:
        number = next(self._numbers)
        self._given[number] = h
        try:
            send(h.tasks, packed((number, index)))
        except OSError:
            self._died([h])

    @property
    def pending(self) -> bool:
        """Return True if a task has no batch yet."""
        return bool(self._given or self._ready)

    def take(self) -> Any:
        """Return the next batch in order, an Exhausted, or a Failure."""
        while True:
            if self._in_order and self._wanted in self._ready:
                self._wanted += 1
                return self._ready.pop(self._wanted - 1)
            if not self._in_order and self._ready:
                return self._ready.pop(next(iter(self._ready)))
            self._receive()

    def _receive(self) -> None:
        """Wait for a message from any worker."""
        waiting = {h.results: h for h in {id(h): h for h in self._given.values()}.values()}
        sentinels = {h.process.sentinel: h for h in waiting.values()}
        found = wait([*waiting, *sentinels], self._timeout or None)
        if not found:
            self._timed_out()
        messages = [f for f in found if f in waiting]
        if not messages:
            self._died([sentinels[f] for f in found])
        h = waiting[messages[0]]
        try:
            number, result = receive(h.results)
        except TimeoutError:
            self._timed_out()
        except (EOFError, OSError):
            self._died([h])
        del self._given[number]
        if isinstance(result, _worker.Exhausted):
            h.active = False
        self._ready[number] = result

    def _timed_out(self) -> None:
        self.stop()
        raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")

    def _died(self, dead: list[_Handle]) -> None:
        reasons = []
        for h in dead:
            h.process.join(_GRACE)
            code = h.process.exitcode
            if code is not None and code < 0:
                reasons.append(f"killed by signal {-code} ({signal.Signals(-code).name})")
            else:
                reasons.append(f"exit code {code}")
        pids = ", ".join(str(h.process.pid) for h in dead)
        self.stop()
        raise RuntimeError(
            f"DataLoader worker (pid(s) {pids}) exited unexpectedly: {', '.join(reasons)}. Its current batch is lost; with num_workers=0 "
            "the dataset runs in this process"
        )
