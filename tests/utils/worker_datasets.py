"""Datasets for the tests of worker processes, in a module that spawned workers can import."""

from __future__ import annotations

import os
import random
import signal
import sys
import time

import numpy as np

import undertow as ut
from undertow.utils.data import Dataset, IterableDataset, get_worker_info


class Numbers(Dataset):
    """The indices themselves, as tensors."""

    def __init__(self, count=10):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return ut.tensor(i)


class Waiting(Numbers):
    """The first sample waits for a file; the second may be the one that makes it."""

    def __init__(self, count, path, until_the_next_is_made=False):
        super().__init__(count)
        self.path = path
        self.until_the_next_is_made = until_the_next_is_made

    def __getitem__(self, i):
        if i == 1 and self.until_the_next_is_made:
            self.path.touch()
        deadline = time.monotonic() + 30
        while i == 0 and not self.path.exists() and time.monotonic() < deadline:
            time.sleep(0.005)
        return ut.tensor(i)


class Where(Numbers):
    """Which process made the sample, and what it saw."""

    def __getitem__(self, i):
        info = get_worker_info()
        return {"i": i, "pid": os.getpid(), "id": info.id, "count": info.num_workers, "seed": info.seed, "same": info.dataset is self, "threads": ut.get_num_threads()}


class Random(Numbers):
    """Random numbers from three libraries."""

    def __getitem__(self, i):
        return ut.rand(()), random.random(), np.random.rand()


class Big(Numbers):
    """Samples of a megabyte."""

    def __getitem__(self, i):
        return ut.full((512, 512), float(i))


class Rows(Numbers):
    """Views of one large tensor."""

    def __init__(self, count=10):
        super().__init__(count)
        self.data = ut.arange(count * 100_000.0).reshape(count, -1)

    def __getitem__(self, i):
        return self.data[i, :3]


class Stubborn(Exception):
    """Cannot be constructed from only a message."""

    def __init__(self, a, b):
        super().__init__(a, b)


class Failing(Numbers):
    """One sample raises."""

    def __init__(self, error, at=3):
        super().__init__()
        self.error = error
        self.at = at

    def __getitem__(self, i):
        if i == self.at:
            raise {"key": KeyError("abc"), "value": ValueError("bad value"), "stubborn": Stubborn(1, 2)}[self.error]
        return ut.tensor(i)


class Stops(Numbers):
    """A sample that raises what iterators raise."""

    def __getitem__(self, i):
        raise StopIteration


class Unpicklable(Numbers):
    """Samples that cannot leave the process."""

    def __getitem__(self, i):
        return lambda: i


class WithHistory(Numbers):
    """Samples that are results."""

    def __getitem__(self, i):
        return ut.ones(1, requires_grad=True) * i


class Dying(Numbers):
    """One sample ends its process."""

    def __init__(self, way):
        super().__init__()
        self.way = way

    def __getitem__(self, i):
        if i == 3:
            if self.way == "exit":
                os._exit(7)
            if self.way == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.way == "sys.exit":
                sys.exit(5)
        return ut.tensor(i)


class Hanging(Numbers):
    """A sample that never arrives."""

    def __getitem__(self, i):
        time.sleep(1000)


class Learns(Numbers):
    """Samples made by a backward pass."""

    def __getitem__(self, i):
        x = ut.ones(20_000, requires_grad=True)
        (x * x * float(i)).sum().backward()
        return x.grad[0]


class Stream(IterableDataset):
    """Counts up; with `split`, each worker counts its own part."""

    def __init__(self, count=7, split=True, length=None):
        self.count = count
        self.split = split
        self.length = length

    def __iter__(self):
        info = get_worker_info()
        first, step = (info.id, info.num_workers) if info and self.split else (0, 1)
        return iter(range(first, self.count, step))

    def __len__(self):
        if self.length is None:
            raise TypeError("no length")
        return self.length


def note_init(worker):
    get_worker_info().dataset.count = 100 + worker


def bad_init(worker):
    raise ValueError("no start")


class Counted(Numbers):
    def __getitem__(self, i):
        return self.count


def join(samples):
    return "+".join(str(s.item()) for s in samples)
