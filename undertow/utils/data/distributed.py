"""`DistributedSampler`: each of several processes gets its own part of a dataset."""

from __future__ import annotations

import math

import undertow
from undertow.utils.data.sampler import Sampler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """Every `num_replicas`-th index starting at `rank`, of a permutation that all ranks share and that `set_epoch` changes.

    >>> from undertow.utils.data import DistributedSampler
    >>> list(DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]
    """

    epoch: int
    num_samples: int
    total_size: int

    def __init__(
        self, dataset: Any, num_replicas: int | None = None, rank: int | None = None, shuffle: bool = True, seed: int = 0, drop_last: bool = False
    ) -> None:
        if num_replicas is None or rank is None:
            from undertow import distributed

            num_replicas = distributed.get_world_size() if num_replicas is None else num_replicas
            rank = distributed.get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        count = len(dataset)
        self.num_samples = math.ceil((count - num_replicas) / num_replicas) if drop_last and count % num_replicas else math.ceil(count / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        if self.shuffle:
            generator = undertow.Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = undertow.randperm(count, generator=generator).tolist()
        else:
            indices = list(range(count))
        missing = self.total_size - count
        if missing > 0:  # repeat some samples, so that all ranks get the same number
            indices += (indices * math.ceil(missing / max(count, 1)))[:missing]
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, which changes the order, in the same way on all ranks."""
        self.epoch = epoch
