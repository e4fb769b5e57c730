"""Work, the handle of a collective with `async_op=True`, and the queue that runs the collectives of one group in the order of the calls."""

from __future__ import annotations

import queue
import threading

import undertow
from undertow.distributed._transports.interface import DistBackendError, Pending
from undertow.futures import Future

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from undertow import Tensor


def seconds(timeout: Any) -> float | None:
    """Return a timeout (a timedelta, a number of seconds, or None) in seconds."""
    return timeout.total_seconds() if hasattr(timeout, "total_seconds") else timeout


class Work:
    """A collective or message that runs while the program continues. `wait` returns when its tensors may be used."""

    def __init__(self, result: Sequence[Tensor] = (), pending: Pending | None = None, source: Callable[[int], int] | None = None) -> None:
        self._result = list(result)
        self._pending, self._source = pending, source
        self._completed: Callable[[], None] | None = None
        self._timeout = float("inf")
        self._future: Future[Any] = Future()
        self._lock = threading.Lock()  # guards the completion of a message, which two threads may wait for

    def _complete(self, error: BaseException | None = None) -> None:
        if error is None:
            self._future.set_result(self._result)
        else:
            self._future.set_exception(error)

    def wait(self, timeout: Any = None) -> bool:
        """Wait for completion; raise the collective's error, or DistBackendError after `timeout`."""
        limit = seconds(timeout)
        if self._pending is not None:
            self._receive(self._timeout if limit is None else limit)
        elif not self._future._wait(limit):
            raise DistBackendError(f"Work.wait: Timed out waiting {(limit or 0) * 1000:.0f}ms for the operation to complete")
        error = self._future._error
        if error is not None:
            raise error
        return True

    def _receive(self, timeout: float) -> None:
        with self._lock:
            if self._future.done():
                return
            assert self._pending is not None
            try:
                self._pending.wait(timeout)
                if self._completed is not None:
                    self._completed()
            except DistBackendError as error:
                self._complete(error)
                return
            self._complete()

    def is_completed(self) -> bool:
        """Return True if the operation has completed or failed."""
        if self._pending is not None and not self._future.done() and self._pending.done():
            self._receive(0)
        return self._future.done()

    def is_success(self) -> bool:
        """Return True if the operation has completed without an error."""
        return self.is_completed() and self._future._error is None

    def exception(self) -> BaseException | None:
        """Return the error of a failed operation."""
        return self._future._error

    def result(self) -> list[Tensor]:
        """Return the output tensors of a completed operation."""
        if not self.is_completed():
            raise RuntimeError("Work needs to be completed before calling result")
        return self._result

    def get_future(self) -> Future[Any]:
        """Return a future of the output tensors."""
        if self._pending is not None:
            self.wait()
        return self._future

    def synchronize(self) -> None:
        """Wait; the same as `wait` for tensors on the CPU."""
        self.wait()

    def source_rank(self) -> int:
        """Return the rank of the sender of a received message."""
        if self._source is None:
            raise RuntimeError("sourceRank() may only be called on work objects that correspond to a recv or recv-from-any call.")
        return self._source(-1 if self._pending is None else self._pending.source)

    _source_rank = source_rank


class WorkQueue:
    """Runs the collectives of one group: at once, or in a thread of its own when the caller does not wait.

    Every rank calls the collectives of a group in the same order, and so must the transport; a call therefore runs at once only if
    nothing is queued before it.
    """

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._lock = threading.Lock()  # guards _queued and _thread; held while a collective runs at once
        self._queued = 0
        self._thread: threading.Thread | None = None

    def run(self, job: Callable[[], None]) -> None:
        """Run `job` after everything that is queued, and return when it is done."""
        with self._lock:
            if not self._queued:
                with undertow.no_grad():
                    job()
                return
        self.start(job, ()).wait()

    def start(self, job: Callable[[], None], result: Sequence[Tensor], read: Sequence[Tensor] = ()) -> Work:
        """Queue `job`, which writes `result` and reads `read`, and return its handle."""
        work = Work(result)
        with self._lock:
            self._queued += 1
            self._jobs.put((job, work))
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="undertow-collectives", daemon=True)
                self._thread.start()
        return work

    def _serve(self) -> None:
        undertow._C._set_grad_enabled(False)  # of this thread
        while (item := self._jobs.get()) is not None:
            job, work = item
            error: BaseException | None = None
            try:
                job()
            except BaseException as raised:  # the thread that waits raises it
                error = raised
            with self._lock:
                self._queued -= 1
            work._complete(error)
            del job, work, item

    def close(self) -> None:
        """End the thread after what is queued."""
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
            self._thread = None


def completed(result: Sequence[Tensor]) -> Work:
    """Return the handle of an operation that is already done."""
    work = Work(result)
    work._complete()
    return work
