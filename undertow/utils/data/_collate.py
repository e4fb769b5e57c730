"""Collation of samples: `default_collate` adds a batch dimension, `default_convert` only converts arrays to tensors."""

from __future__ import annotations

import copy
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence

import undertow
from undertow._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MUST = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def _is_numpy(value: Any) -> bool:
    return type(value).__module__ == "numpy" and hasattr(value, "dtype")


def _is_text(array: Any) -> bool:
    return array.dtype.kind in "SUaO"


def _like(original: Any, made: list[Any]) -> Any:
    """Return `made` in a container like `original`, or a list if such a container cannot be built."""
    if isinstance(original, tuple) and hasattr(original, "_fields"):
        return type(original)(*made)
    if isinstance(original, MutableSequence):
        clone = copy.copy(original)
        for i, value in enumerate(made):
            clone[i] = value
        return clone
    if isinstance(original, tuple):
        return made
    try:
        return type(original)(made)
    except TypeError:
        return made


def _like_mapping(original: Any, made: dict[Any, Any]) -> Any:
    if isinstance(original, MutableMapping):
        clone = copy.copy(original)
        clone.update(made)
        return clone
    try:
        return type(original)(made)
    except TypeError:
        return made


def default_convert(data: Any) -> Any:
    """Convert NumPy arrays and scalars to tensors, also inside containers; return everything else unchanged.

    >>> import numpy as np
    >>> from undertow.utils.data import default_convert
    >>> default_convert({"a": np.array([1, 2]), "b": "text"})
    {'a': tensor([1, 2]), 'b': 'text'}
    """
    if isinstance(data, Tensor):
        return data
    if _is_numpy(data):
        return data if _is_text(data) else undertow.as_tensor(data)
    if isinstance(data, Mapping):
        return _like_mapping(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, (str, bytes)) or not isinstance(data, Sequence):
        return data
    return _like(data, [default_convert(value) for value in data])


def default_collate(batch: Sequence[Any]) -> Any:
    """Combine samples to a batch: stack tensors, convert numbers to tensors, and handle containers recursively.

    >>> from undertow.utils.data import default_collate
    >>> default_collate([{"x": 1, "name": "a"}, {"x": 2, "name": "b"}])
    {'x': tensor([1, 2]), 'name': ['a', 'b']}
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return undertow.stack(list(batch), 0)
    if _is_numpy(first):
        if _is_text(first):
            raise TypeError(_MUST.format(first.dtype))
        return undertow.as_tensor(list(batch)) if first.shape == () else default_collate([undertow.as_tensor(b) for b in batch])
    if isinstance(first, float):
        return undertow.tensor(batch, dtype=undertow.float64)
    if isinstance(first, int):
        return undertow.tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return _like_mapping(first, {key: default_collate([sample[key] for sample in batch]) for key in first})
    if not isinstance(first, Sequence):
        raise TypeError(_MUST.format(type(first)))
    if any(len(sample) != len(first) for sample in batch):
        raise RuntimeError(f"each element in list of batch should be of equal size; the sizes are {[len(sample) for sample in batch]}")
    columns = list(zip(*batch, strict=True))
    return _like(first, [default_collate(column) for column in columns])
