"""Streams, in which work runs in order, and events, which mark a place in them."""

from __future__ import annotations

from undertow import _C
from undertow.cuda._devices import device as _device_context
from undertow.cuda._library import available, functions, index_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Stream:
    """A queue of work for one GPU. Work in different streams may run at the same time; see `wait_stream`.

    Streams come from a pool, so two objects may stand for one stream.
    """

    def __init__(
        self, device: Any = None, priority: int = 0, *, stream_id: int | None = None, device_index: int | None = None, **kwargs: Any
    ) -> None:
        if not available():
            raise RuntimeError(f"torch.cuda.{type(self).__name__} requires CUDA support; there is no GPU to use: {_C._cuda_missing()}")
        self.device_index = index_of(device if device_index is None else device_index)
        self.priority = min(priority, 0)
        self.cuda_stream: int = functions().new_stream(self.device_index, priority) if stream_id is None else stream_id

    @property
    def device(self) -> _C.device:
        """The GPU of the stream."""
        return _C.device("cuda", self.device_index)

    @property
    def device_type(self) -> int:
        """1: CUDA."""
        return 1

    @property
    def stream_id(self) -> int:
        """The number of the stream, its handle."""
        return self.cuda_stream

    @property
    def _as_parameter_(self) -> Any:
        import ctypes

        return ctypes.c_void_p(self.cuda_stream)

    def wait_event(self, event: Event) -> None:
        """Make work that is issued from now on start after the event."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Make work that is issued from now on start after the work which `stream` has now."""
        if stream.device_index == self.device_index:
            functions().stream_wait_stream(self.device_index, self.cuda_stream, stream.cuda_stream)
        else:
            self.wait_event(stream.record_event())

    def record_event(self, event: Event | None = None) -> Event:
        """Mark the place after the work issued so far, and return the event."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def query(self) -> bool:
        """Return True if all work issued to the stream is done."""
        return functions().stream_query(self.device_index, self.cuda_stream)

    def synchronize(self) -> None:
        """Wait until all work issued to the stream is done."""
        functions().stream_synchronize(self.device_index, self.cuda_stream)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (self.cuda_stream, self.device_index) == (other.cuda_stream, other.device_index)

    def __hash__(self) -> int:
        return hash((self.cuda_stream, self.device_index))

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"

    def __enter__(self) -> Stream:
        self._context = StreamContext(self)
        self._context.__enter__()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._context.__exit__(kind, error, trace)


class ExternalStream(Stream):
    """A stream that another library made, given by its handle. It is not destroyed with the object."""

    def __init__(self, stream_ptr: int, device: Any = None, **kwargs: Any) -> None:
        super().__init__(device, stream_id=stream_ptr)


class Event:
    """A mark in a stream: others can wait for it, and the time between two of them can be measured."""

    _handle = 0

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False) -> None:
        if not available():
            raise RuntimeError(f"Tried to instantiate dummy base class {type(self).__name__}; there is no GPU to use: {_C._cuda_missing()}")
        if interprocess:
            raise NotImplementedError("Event: events of several processes are not supported")
        self._timing, self._blocking = enable_timing, blocking
        self._device = -1

    @property
    def cuda_event(self) -> int:
        """The handle of the event; 0 before it is recorded."""
        return self._handle

    @property
    def device(self) -> _C.device | None:
        """The GPU of the stream it was recorded in, or None."""
        return None if self._device < 0 else _C.device("cuda", self._device)

    def record(self, stream: Stream | None = None) -> None:
        """Mark the place after the work issued to the stream so far."""
        stream = current_stream() if stream is None else stream
        if not self._handle:
            self._device = stream.device_index
            self._handle = functions().new_event(self._device, self._timing, self._blocking)
        elif self._device != stream.device_index:
            raise RuntimeError(f"Event device cuda:{self._device} does not match recording stream's device {stream.device}.")
        functions().record_event(self._device, self._handle, stream.cuda_stream)

    def wait(self, stream: Stream | None = None) -> None:
        """Make work that is issued to the stream from now on start after the event."""
        stream = current_stream() if stream is None else stream
        if self._handle:
            functions().stream_wait_event(stream.device_index, stream.cuda_stream, self._handle)

    def query(self) -> bool:
        """Return True if the work before the event is done."""
        return not self._handle or functions().event_query(self._handle)

    def synchronize(self) -> None:
        """Wait until the work before the event is done."""
        if self._handle:
            functions().event_synchronize(self._device, self._handle)

    def elapsed_time(self, end_event: Event) -> float:
        """Return the milliseconds between two events, both recorded with `enable_timing=True` and reached."""
        if not (self._timing and end_event._timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not (self._handle and end_event._handle):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return functions().event_elapsed(self._handle, end_event._handle)

    def ipc_handle(self) -> bytes:
        """Raise: events of several processes are not supported."""
        raise NotImplementedError("Event.ipc_handle: events of several processes are not supported")

    def __del__(self) -> None:
        if self._handle:
            functions().destroy_event(self._handle)

    def __repr__(self) -> str:
        return f"<torch.cuda.Event {self._handle:#x}>" if self._handle else "<torch.cuda.Event uninitialized>"


class StreamContext:
    """Context manager that makes a stream the current one, and its GPU too; None changes nothing. See `stream`."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is None or not available():
            return
        self._device = _device_context(self.stream.device_index)
        self._device.__enter__()
        self._before = current_stream(self.stream.device_index)
        set_stream(self.stream)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self.stream is None or not available():
            return
        set_stream(self._before)
        self._device.__exit__(kind, error, trace)


def stream(stream: Stream | None) -> StreamContext:
    """Return a context manager in which work is issued to the stream.

    >>> import undertow as ut
    >>> if ut.cuda.is_available():
    ...     with ut.cuda.stream(ut.cuda.Stream()):
    ...         x = ut.ones(3, device="cuda")
    """
    return StreamContext(stream)


def current_stream(device: Any = None) -> Stream:
    """Return the stream to which this thread issues work for a GPU."""
    index = index_of(device, "current_stream")
    return Stream(index, stream_id=functions("current_stream").current_stream(index))


def default_stream(device: Any = None) -> Stream:
    """Return the stream that is current if no other was set."""
    index = index_of(device, "default_stream")
    functions("default_stream")
    return Stream(index, stream_id=0)


def set_stream(stream: Stream) -> None:
    """Make a stream the current one of its GPU, for this thread."""
    functions("set_stream").set_current_stream(stream.device_index, stream.cuda_stream)


def get_stream_from_external(data_ptr: int, device: Any = None) -> Stream:
    """Return a stream that another library made, given by its handle."""
    return ExternalStream(data_ptr, device)
