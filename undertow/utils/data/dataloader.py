"""`DataLoader`: batches of a dataset, prepared in this process or in worker processes."""

from __future__ import annotations

import os
import warnings
from typing import Generic, TypeVar

import undertow
from undertow.utils.data import _worker
from undertow.utils.data._collate import default_collate, default_convert
from undertow.utils.data._pin import pin_memory
from undertow.utils.data._worker import get_worker_info
from undertow.utils.data.dataset import IterableDataset
from undertow.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, fresh_seed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from undertow import Generator
    from undertow.utils.data.dataset import Dataset

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

_T_co = TypeVar("_T_co", covariant=True)
_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class _Forever(Sampler[None]):
    """Placeholder for the indices of an iterable dataset, which has none."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


class DataLoader(Generic[_T_co]):
    """Iterates over the batches of a dataset, with torch's arguments and, for the same seed, torch's order.

    With num_workers > 0, that many processes prepare batches in advance, `prefetch_factor` each; batches are in order unless
    in_order=False. An exception in a worker is raised in this process with the worker's traceback; a worker that dies raises
    RuntimeError. Workers are forked, or started with `multiprocessing_context`.

    >>> import undertow as ut
    >>> from undertow.utils.data import DataLoader, TensorDataset
    >>> for x, y in DataLoader(TensorDataset(ut.arange(3), ut.ones(3)), batch_size=2):
    ...     print(x, y)
    tensor([0, 1]) tensor([1., 1.])
    tensor([2]) tensor([1.])
    """

    if TYPE_CHECKING:
        dataset: Any  # a Dataset, or any object with samples by index
    prefetch_factor: int | None
    if TYPE_CHECKING:
        multiprocessing_context: Any  # None, the name of a start method, or a multiprocessing context
        collate_fn: Callable[[list[Any]], Any]
    _initialized = False

    def __init__(
        self,
        dataset: Dataset[_T_co] | Sequence[_T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable multiprocessing, otherwise set "
                "prefetch_factor to None."
            )
        if prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self._iterable = isinstance(dataset, IterableDataset)
        if self._iterable:
            self._check_iterable(shuffle, sampler, batch_sampler)
            sampler = _Forever()
        if sampler is not None and shuffle and not self._iterable:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or (sampler is not None and not self._iterable) or drop_last:
                raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            sized: Any = dataset  # one by index has a length
            sampler = RandomSampler(sized, generator=generator) if shuffle else SequentialSampler(sized)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self.persistent_workers = persistent_workers
        self._initialized = True
        self._iterable_length: int | None = None
        self._iterator: _WorkerIterator | None = None
        self.check_worker_number_rationality()

    def _check_iterable(self, shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
        for name, value, wrong in (("shuffle", shuffle, shuffle not in {False, None}), ("sampler", sampler, sampler is not None)):
            if wrong:
                raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}")
        if batch_sampler is not None:
            raise ValueError(f"DataLoader with IterableDataset: expected unspecified batch_sampler option, but got batch_sampler={batch_sampler}")

    def __setattr__(self, name: str, value: Any) -> None:
        if self._initialized and name in _FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        if name == "multiprocessing_context":
            value = self._context(value)
        super().__setattr__(name, value)

    def _context(self, value: Any) -> Any:
        if value is None:
            return None
        if self.num_workers == 0:
            raise ValueError("multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got num_workers=0")
        import multiprocessing
        from multiprocessing.context import BaseContext

        if isinstance(value, str):
            methods = multiprocessing.get_all_start_methods()
            if value not in methods:
                raise ValueError(
                    f"multiprocessing_context option should specify a valid start method in {methods}, but got multiprocessing_context={value!r}"
                )
            return multiprocessing.get_context(value)
        if not isinstance(value, BaseContext):
            raise TypeError(
                "multiprocessing_context option should be a valid context object or a string specifying the start method, but got "
                f"multiprocessing_context={value}"
            )
        return value

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def _fetcher(self) -> _FetcherMaker:
        return _FetcherMaker((self.dataset, self._iterable, self._auto_collation, self.collate_fn, self.drop_last))

    def __iter__(self) -> Iterator[Any]:
        if self.pin_memory and not undertow.cuda.is_available():
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.", stacklevel=2
            )
        if self.num_workers == 0:
            return _Iterator(self)
        if not self.persistent_workers:
            return _WorkerIterator(self)
        if self._iterator is None or self._iterator._pool.stopped:
            self._iterator = _WorkerIterator(self)
        else:
            self._iterator._reset()
        return self._iterator

    def __len__(self) -> int:
        if not self._iterable:
            return len(self._index_sampler)
        length = self._iterable_length = len(self.dataset)
        if self.batch_size is None:
            return length
        whole, rest = divmod(length, self.batch_size)
        return whole + bool(rest and not self.drop_last)

    def check_worker_number_rationality(self) -> None:
        """Warn if there are more workers than CPUs."""
        available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if available is not None and self.num_workers > available:
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested max number of worker in current system is "
                f"{available}, which is smaller than what this DataLoader is going to create. More workers than processors can be slower.",
                stacklevel=3,
            )


class _FetcherMaker:
    """Creates a worker's fetcher; can be pickled, which spawned workers require."""

    def __init__(self, arguments: tuple[Any, ...]) -> None:
        self._arguments = arguments

    def __call__(self) -> _worker.Fetcher:
        return _worker.Fetcher(*self._arguments)


class _Iterator:
    """Iterates over batches prepared in this process; base class of the iterator with workers."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._set(loader)
        self._fetcher = self._make_fetcher()

    def _set(self, loader: DataLoader[Any]) -> None:
        self._loader, self._num_workers, self._dataset = loader, loader.num_workers, loader.dataset
        self._make_fetcher = loader._fetcher()
        self._begin()
        self._base_seed = fresh_seed(loader.generator)  # once for all epochs of persistent workers, as in torch

    def _begin(self) -> None:
        self._indices = iter(self._loader._index_sampler)
        self._yielded = 0

    def __iter__(self) -> Iterator[Any]:
        return self

    def __len__(self) -> int:
        return len(self._loader._index_sampler)

    def _make(self) -> Any:
        return self._fetcher.fetch(next(self._indices))

    def __next__(self) -> Any:
        batch = self._make()
        if self._loader.pin_memory:
            batch = pin_memory(batch)
        self._yielded += 1
        length = self._loader._iterable_length
        if self._loader._iterable and length is not None and self._yielded == len(self._loader) + 1:
            message = (
                f"Length of IterableDataset {self._loader.dataset} was reported to be {length} (when accessing len(dataloader)), "
                f"but {self._yielded} samples have been fetched. "
            )
            if self._loader.num_workers > 0:
                message += "Every worker has a copy of the dataset: check that each uses only its own part, with get_worker_info()."
            warnings.warn(message, stacklevel=2)
        return batch


class _WorkerIterator(_Iterator):
    """Iterates over batches that worker processes prepare in advance."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        from undertow.utils.data._workers import WorkerPool

        self._set(loader)
        self._pool = WorkerPool(loader, self._make_fetcher, self._base_seed)
        self._persistent = loader.persistent_workers
        self._prefetch()

    @property
    def _workers(self) -> list[Any]:
        return [h.process for h in self._pool._handles]

    def _reset(self) -> None:
        self._begin()
        self._pool.resume()
        self._prefetch()

    def _prefetch(self) -> None:
        self._more = True
        for _ in range(max(1, self._loader.prefetch_factor or 0) * self._loader.num_workers):
            self._give()

    def _give(self) -> None:
        if not self._more:
            return
        try:
            index = next(self._indices)
        except StopIteration:
            self._more = False
            return
        self._more = self._pool.give(index)

    def _make(self) -> Any:
        while self._pool.pending:
            result = self._pool.take()
            self._give()
            if isinstance(result, _worker.Exhausted):
                continue
            if isinstance(result, _worker.Failure):
                if not self._persistent:
                    self._pool.stop()
                result.reraise()
            return result
        if not self._persistent:
            self._pool.stop()
        raise StopIteration


_BaseDataLoaderIter, _MultiProcessingDataLoaderIter = _Iterator, _WorkerIterator  # torch's names, for isinstance
