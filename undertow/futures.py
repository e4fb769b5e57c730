"""Values that are set later, like `torch.futures`."""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

__all__ = ["Future", "collect_all", "wait_all"]
T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A value that another thread sets.

    >>> future = Future()
    >>> later = future.then(lambda f: f.value() + 1)
    >>> future.set_result(1)
    >>> later.wait()
    2
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._done = threading.Event()
        self._lock = threading.Lock()  # guards the callbacks and the change to done
        self._callbacks: list[Callable[[Future[T]], Any]] = []
        self._value: Any = None
        self._error: BaseException | None = None

    def done(self) -> bool:
        """Return True if the value or an error is set."""
        return self._done.is_set()

    def _wait(self, timeout: float | None = None) -> bool:
        return self._done.is_set() or self._done.wait(timeout)

    def wait(self) -> T:
        """Wait for the value and return it, or raise the error."""
        self._wait()
        return self.value()

    def value(self) -> T:
        """Return the value, or raise the error."""
        if not self.done():
            raise RuntimeError("Future.value: the future is not completed; call wait()")
        if self._error is not None:
            raise self._error
        return self._value

    def set_result(self, result: T) -> None:
        """Set the value; callbacks run in this thread."""
        self._set(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Set an error, which `wait` raises."""
        if not isinstance(result, BaseException):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._set(None, result)

    def _set(self, value: Any, error: BaseException | None) -> None:
        with self._lock:
            if self.done():
                raise RuntimeError("Attempting to mark a completed Future as complete again. Note that a Future can only be marked completed once.")
            self._value, self._error = value, error
            self._done.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            self._call(callback)

    def _call(self, callback: Callable[[Future[T]], Any]) -> None:
        """Call a callback. Whoever sets the value does not know it, so its error is only logged."""
        try:
            callback(self)
        except Exception:
            from logging import getLogger

            getLogger(__name__).exception("Got the following error when running the callback")

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise RuntimeError("Can not pickle torch.futures.Future")

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Call `callback(self)` when the value is set, or now if it is. An error of the callback is logged, not raised."""
        with self._lock:
            if not self.done():
                self._callbacks.append(callback)
                return
        self._call(callback)

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """Return a future of `callback(self)`, which is called when the value is set. An error of the callback is a RuntimeError of that future."""
        later: Future[S] = Future()

        def run(done: Future[T]) -> None:
            try:
                result = callback(done)
            except Exception as error:
                failed = RuntimeError(f"Got the following error when running the callback: {type(error).__name__}: {error}")
                failed.__cause__ = error
                later.set_exception(failed)
            else:
                later.set_result(result)

        self.add_done_callback(run)
        return later


def collect_all(futures: Sequence[Future[Any]]) -> Future[list[Future[Any]]]:
    """Return a future of the list of all futures, which is set when all of them are. If one has an error, that is its error too."""
    every: Future[list[Future[Any]]] = Future()
    futures = _checked(futures)
    lock, left = threading.Lock(), [len(futures)]

    def one(_: Future[Any]) -> None:
        with lock:
            left[0] -= 1
            last = left[0] == 0
        if last:
            every._set(futures, next((f._error for f in futures if f._error is not None), None))

    if not futures:
        every.set_result(futures)
    for future in futures:
        future.add_done_callback(one)
    return every


def wait_all(futures: Sequence[Future[Any]]) -> list[Any]:
    """Wait for all futures and return their values."""
    return [future.wait() for future in collect_all(futures).wait()]


def _checked(futures: Sequence[Any]) -> list[Future[Any]]:
    if any(future is None for future in futures):
        raise RuntimeError("Future can't be None")
    return list(futures)
