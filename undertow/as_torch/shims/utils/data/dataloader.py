"""Names of torch.utils.data.dataloader that are not in undertow.utils.data.dataloader."""

from collections.abc import Callable
from typing import Any

__all__ = ["_DatasetKind", "_collate_fn_t", "_worker_init_fn_t"]

_collate_fn_t = Callable[[list[Any]], Any]
_worker_init_fn_t = Callable[[int], None]


class _DatasetKind:
    """Whether a dataset is read by index or iterated over."""

    Map = 0
    Iterable = 1
