"""The code of a DataLoader's worker process: receives indices, returns batches or failures."""

from __future__ import annotations

import queue
import random
import sys
import threading
import traceback

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator
    from typing import Any

_worker_info: WorkerInfo | None = None


class WorkerInfo:
    """Information about a worker process: its `id` of `num_workers`, its `seed` and its copy of the `dataset`."""

    def __init__(self, id: int, num_workers: int, seed: int, dataset: Any) -> None:
        self.id = id
        self.num_workers = num_workers
        self.seed = seed
        self.dataset = dataset

    def __repr__(self) -> str:
        return f"WorkerInfo(id={self.id}, num_workers={self.num_workers}, seed={self.seed}, dataset={self.dataset!r})"


def get_worker_info() -> WorkerInfo | None:
    """Return information about the worker in a worker process of a DataLoader; None elsewhere."""
    return _worker_info


class _MessageOfKeyError(str):
    """A string that is its own repr: KeyError shows the repr of its argument, which would escape the line breaks of a traceback."""

    def __repr__(self) -> str:
        return str(self)


class Failure:
    """An exception sent by a worker: its class, and its traceback as text."""

    def __init__(self, error: BaseException, where: str) -> None:
        self.cls = type(error)
        self.name = type(error).__name__
        self.text = "".join(traceback.format_exception(error))
        self.where = where

    def __getstate__(self) -> dict[str, Any]:
        import pickle

        state = dict(vars(self))
        try:
            pickle.dumps(self.cls)
        except Exception:  # a local class cannot be pickled: send only its name
            state["cls"] = RuntimeError
        return state

    def reraise(self) -> None:
        """Raise the same exception in this process, with its traceback in the message."""
        message = f"Caught {self.name} {self.where}.\nOriginal {self.text}"
        if self.cls is StopIteration:
            raise RuntimeError(message)  # StopIteration itself would silently end the parent's loop
        if self.cls is KeyError:
            raise KeyError(_MessageOfKeyError(message))
        try:
            error = self.cls(message)
        except Exception:
            raise RuntimeError(message) from None
        raise error


class Exhausted:
    """Sent when the worker's iterable dataset is exhausted."""


class Resumed:
    """Sent to start another epoch of a persistent worker; its random numbers continue."""


class Fetcher:
    """Fetches batches from a dataset, by index or by iteration."""

    def __init__(self, dataset: Any, iterable: bool, batched: bool, collate: Callable[[Any], Any], drop_last: bool) -> None:
        self._dataset = dataset
        self._batched = batched
        self._collate = collate
        self._drop_last = drop_last
        self.iterable = iterable
        self._iterator = iter(dataset) if iterable else None
        self._ended = False

    def fetch(self, index: Any) -> Any:
        """Return the batch of these indices; for an iterable dataset, a batch of as many samples."""
        if self._iterator is not None:
            return self._collate(self._next(self._iterator, index))
        if not self._batched:
            return self._collate(self._dataset[index])
        if callable(getattr(self._dataset, "__getitems__", None)):
            return self._collate(self._dataset.__getitems__(index))
        return self._collate([self._dataset[i] for i in index])

    def _next(self, iterator: Iterator[Any], index: Any) -> Any:
        if self._ended:
            raise StopIteration
        if not self._batched:
            return next(iterator)
        samples = []
        for _ in index:
            try:
                samples.append(next(iterator))
            except StopIteration:
                self._ended = True
                break
        if not samples or (self._drop_last and len(samples) < len(index)):
            raise StopIteration
        return samples


def _seed(base: int, worker: int) -> None:
    import undertow

    seed = base + worker
    random.seed(seed)
    undertow.manual_seed(seed)
    if "numpy" in sys.modules:
        import numpy

        words = [worker, base & 0xFFFFFFFF, base >> 32, 0]
        numpy.random.seed(numpy.random.SeedSequence(words).generate_state(4))


def _receive_tasks(sock: socket.socket, tasks: queue.SimpleQueue) -> None:
    """Receive tasks immediately, so that the parent never blocks while sending; put None when the parent is gone."""
    from undertow.utils.data._transport import receive

    try:
        while True:
            tasks.put(receive(sock))
    except (EOFError, OSError):
        tasks.put(None)


def _send_results(sock: socket.socket, results: queue.SimpleQueue) -> None:
    """Send finished batches while the next one is prepared."""
    from undertow.utils.data._transport import send

    while (parts := results.get()) is not None:
        try:
            send(sock, parts)
        except OSError:
            return  # the parent no longer reads


def run(
    task_socket: socket.socket,
    result_socket: socket.socket,
    others: list[socket.socket],
    make_fetcher: Callable[[], Fetcher],
    base_seed: int,
    worker: int,
    num_workers: int,
    init: Callable[[int], Any] | None,
    dataset: Any,
) -> None:
    """Run a worker until the parent closes the task socket."""
    import undertow

    global _worker_info
    for sock in others:
        sock.close()  # forked copies of the parent's ends; while they are open, the other side does not see them closed
    undertow.set_num_threads(1)
    _seed(base_seed, worker)
    _worker_info = WorkerInfo(worker, num_workers, base_seed + worker, dataset)
    tasks: queue.SimpleQueue = queue.SimpleQueue()
    results: queue.SimpleQueue = queue.SimpleQueue()
    threading.Thread(target=_receive_tasks, args=(task_socket, tasks), daemon=True).start()
    sender = threading.Thread(target=_send_results, args=(result_socket, results), daemon=True)
    sender.start()
    try:
        _serve(tasks, results, make_fetcher, init, worker)
    except KeyboardInterrupt:
        pass  # the parent gets it too, and reports it
    results.put(None)
    sender.join()


def _serve(tasks: queue.SimpleQueue, results: queue.SimpleQueue, make_fetcher: Callable[[], Fetcher], init: Any, worker: int) -> None:
    from undertow.utils.data._transport import packed

    where = f"in DataLoader worker process {worker}"
    fetcher: Any = None
    failure = None
    result: Any
    try:
        if init is not None:
            init(worker)
        fetcher = make_fetcher()
    except Exception as error:
        failure = Failure(error, where)
    while (task := tasks.get()) is not None:
        number, index = task
        try:
            if isinstance(index, Resumed):
                fetcher, result = make_fetcher(), index
            elif failure is not None:
                result, failure = failure, None
            else:
                result = fetcher.fetch(index)
        except Exception as error:
            ended = isinstance(error, StopIteration) and fetcher is not None and fetcher.iterable
            result = Exhausted() if ended else Failure(error, where)
        try:
            parts = packed((number, result))
        except Exception as error:
            parts = packed((number, Failure(error, where)))
        del result
        results.put(parts)
