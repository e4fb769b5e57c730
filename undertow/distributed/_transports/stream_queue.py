"""Runs the collectives of one group on a GPU, on a stream of the group, between events of the caller's stream; Work, the handle of one.

A thread watches what was issued: a collective that does not end in time, or whose ranks are gone, is aborted, and the program raises.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
import time

import undertow
from undertow import cuda
from undertow.cuda._library import functions
from undertow.distributed._processes import process, status
from undertow.distributed._transports.interface import DistBackendError
from undertow.distributed._transports.work import Work, seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from undertow import Tensor
    from undertow.distributed._transports.nccl import NcclTransport

_LOOK_EVERY = 0.1  # seconds between looks at what was issued
_POLL = 1e-4  # seconds between looks of a program that waits with a timeout


class StreamWork(Work):
    """A collective on a stream. `wait` makes the current stream wait for it; with a timeout, the program waits."""

    def __init__(self, result: Sequence[Tensor], transport: NcclTransport, event: cuda.Event) -> None:
        super().__init__(result)
        self._transport, self._event = transport, event

    def _raise_failure(self) -> None:
        if error := self.exception():
            raise error

    def wait(self, timeout: Any = None) -> bool:
        """Make work issued next on the current stream wait for completion; raise DistBackendError if the collective failed."""
        self._raise_failure()
        if timeout is not None:
            end = time.monotonic() + (seconds(timeout) or 0.0)
            while not self.is_completed():
                if time.monotonic() > end:
                    raise DistBackendError(f"Work.wait: Timed out waiting {(seconds(timeout) or 0) * 1000:.0f}ms for the operation to complete")
                time.sleep(_POLL)
            self._raise_failure()
        self._event.wait()
        return True

    def is_completed(self) -> bool:
        """Return True if the GPU has finished the operation, or it has failed."""
        return bool(self._transport.failure) or self._event.query()

    def is_success(self) -> bool:
        """Return True if the operation has completed without an error."""
        return self.is_completed() and self.exception() is None

    def exception(self) -> BaseException | None:
        """Return the error of a failed operation."""
        return DistBackendError(self._transport.failure) if self._transport.failure else None

    def get_future(self) -> Any:
        """Return a future of the output tensors, which the current stream waits for."""
        if not self._future.done():
            self.wait()
            self._complete()
        return self._future


class StreamQueue:
    """As WorkQueue, for a GPU: nothing waits on the host, and the group's stream keeps the order of the calls."""

    def __init__(self, transport: NcclTransport) -> None:
        self.transport = transport
        self._stream: cuda.Stream | None = None

    @contextlib.contextmanager
    def _on_stream(self) -> Iterator[int]:
        """Make the group's stream current, after what the caller's stream has now."""
        index = self.transport.device.index
        if self._stream is None or self._stream.device_index != index:
            self._stream = cuda.Stream(index, priority=-1)  # transfers begin before kernels that are queued as well
        library, mine = functions(), self._stream.cuda_stream
        caller = library.current_stream(index)
        library.stream_wait_stream(index, mine, caller)
        library.set_current_stream(index, mine)
        try:
            with undertow.no_grad():
                yield caller
        finally:
            library.set_current_stream(index, caller)

    def run(self, job: Callable[[], None]) -> None:
        """Issue `job`; what the caller's stream gets next waits for it."""
        with self._on_stream() as caller:
            job()
            event = self._mark()
        functions().stream_wait_event(self.transport.device.index, caller, event.cuda_event)

    def start(self, job: Callable[[], None], result: Sequence[Tensor], read: Sequence[Tensor] = ()) -> Work:
        """Issue `job`, which writes `result` and reads `read`, and return its handle."""
        with self._on_stream():
            job()
            event = self._mark()
        assert self._stream is not None
        for tensor in {id(tensor): tensor for tensor in (*result, *read) if tensor.is_cuda}.values():
            tensor.record_stream(self._stream)  # the program may drop it before the stream is done
        return StreamWork(result, self.transport, event)

    def _mark(self) -> cuda.Event:
        event = cuda.Event()
        event.record(self._stream)
        if self.transport.size > 1:
            _watch.add(self.transport, event)
        return event

    def close(self) -> None:
        """Forget the stream; the transport waits for what is on it when it closes."""
        self._stream = None


class _Watch:
    """Looks at collectives on GPUs until they end."""

    def __init__(self) -> None:
        self._changed = threading.Condition()  # guards _issued
        self._issued: list[tuple[NcclTransport, cuda.Event, float, str]] = []
        self._thread: threading.Thread | None = None
        self._gone_since = 0.0

    def add(self, transport: NcclTransport, event: cuda.Event) -> None:
        with self._changed:
            self._issued.append((transport, event, time.monotonic(), process.last().partition(" (number")[0]))
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="undertow-nccl-watch", daemon=True)
                self._thread.start()
            self._changed.notify()

    def _serve(self) -> None:
        while True:
            with self._changed:
                while not self._issued:
                    self._changed.wait()
                issued, self._issued = self._issued, []
            left = [entry for entry in issued if not _is_over(entry[0], entry[1])]
            for transport, _, since, text in left:
                if not transport.failure and (why := self._trouble(transport, since)):
                    _end(transport, f"{text}: {why}" if process.records() is not None else why)
            with self._changed:
                self._issued[:0] = left
            time.sleep(_LOOK_EVERY)

    def _trouble(self, transport: NcclTransport, since: float) -> str:
        """Return why a collective will not end, or an empty text."""
        if failed := transport.failed_in_background():
            return f"NCCL: {failed}"
        records, waited = process.records(), time.monotonic() - since
        gone = records.missing(transport.ranks) if records is not None else []
        self._gone_since = (self._gone_since or time.monotonic()) if gone else 0.0
        if gone and time.monotonic() - self._gone_since > status.GRACE:
            return status.story(records, transport.ranks, f"NCCL: stopped waiting after {waited:.1f} s", gone)
        if waited > transport.timeout:
            late = records.behind(transport.ranks) if records is not None else []
            what = f"NCCL: Timed out waiting {transport.timeout * 1000:.0f}ms for the operation to complete"
            return status.story(records, transport.ranks, what, late)
        return ""


def _is_over(transport: NcclTransport, event: cuda.Event) -> bool:
    if transport.failure:
        return True
    try:
        functions().set_current_device(transport.device.index)  # of this thread, which has none at first
        return event.query()
    except undertow.AcceleratorError:
        return True  # the GPU has failed, and the program's next call says so


_watch = _Watch()


def _end(transport: NcclTransport, why: str) -> None:
    """Abort the group's communicator, and raise in the main thread: after an abort its tensors hold no results."""
    transport.abort(why)
    process.broke()
    raised = type("DistBackendError", (DistBackendError,), {"__str__": lambda self: why, "__module__": DistBackendError.__module__})
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(threading.main_thread().ident or 0), ctypes.py_object(raised))
