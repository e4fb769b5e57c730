"""Datasets, samplers and `DataLoader`, with torch's interface and order of samples."""

from undertow._lazy import explain_missing as _explain_missing
from undertow.utils.data._collate import default_collate, default_convert
from undertow.utils.data._worker import get_worker_info
from undertow.utils.data.dataloader import DataLoader
from undertow.utils.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from undertow.utils.data.distributed import DistributedSampler
from undertow.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

__all__ = [
    *("BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler", "IterableDataset", "RandomSampler", "Sampler"),
    *("SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler", "default_collate"),
    *("default_convert", "get_worker_info", "random_split"),
]

TYPE_CHECKING = False
if not TYPE_CHECKING:  # a type checker that saw it would accept every name
    __getattr__ = _explain_missing(__name__)
