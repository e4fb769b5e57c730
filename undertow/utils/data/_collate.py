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


def collate_tensor_fn(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Tensor:
    """Return the stack of tensors."""
    return undertow.stack(list(batch), 0)


def collate_numpy_array_fn(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    """Convert arrays to tensors and collate these."""
    if _is_text(batch[0]):
        raise TypeError(_MUST.format(batch[0].dtype))
    return collate([undertow.as_tensor(b) for b in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Tensor:
    """Return the tensor of NumPy scalars."""
    return undertow.as_tensor(list(batch))


def collate_float_fn(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Tensor:
    """Return the tensor of numbers, in float64."""
    return undertow.tensor(batch, dtype=undertow.float64)


def collate_int_fn(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Tensor:
    """Return the tensor of integers."""
    return undertow.tensor(batch)


def collate_str_fn(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    """Return the batch of strings itself."""
    return batch


# How `default_collate` combines samples, by their type. Programs add entries for types of their own. The two for NumPy come with the first array.
default_collate_fn_map: dict[Any, Any] = {
    Tensor: collate_tensor_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def _add_numpy() -> None:
    """Add NumPy's types, before float: a float64 of NumPy is a float too. Only then: importing NumPy takes longer than importing us."""
    import numpy as np

    if np.ndarray not in default_collate_fn_map:
        others = dict(default_collate_fn_map)
        default_collate_fn_map.clear()
        default_collate_fn_map[Tensor] = others.pop(Tensor, collate_tensor_fn)
        default_collate_fn_map[np.ndarray] = collate_numpy_array_fn
        default_collate_fn_map[np.bool_, np.number, np.object_] = collate_numpy_scalar_fn
        default_collate_fn_map.update(others)


def collate(batch: Sequence[Any], *, collate_fn_map: dict[Any, Any] | None = None) -> Any:
    """Combine samples to a batch with the function that `collate_fn_map` has for their type, and handle containers recursively.

    An entry for the exact type comes first, then the first entry for one of its base classes. The functions are called with the samples and
    with the keyword `collate_fn_map`.
    """
    first, kind = batch[0], type(batch[0])
    if collate_fn_map is not None:
        if collate_fn_map is default_collate_fn_map and _is_numpy(first):
            _add_numpy()
        combine = collate_fn_map.get(kind) or next((f for known, f in collate_fn_map.items() if isinstance(first, known)), None)
        if combine is not None:
            return combine(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        return _like_mapping(first, {key: collate([sample[key] for sample in batch], collate_fn_map=collate_fn_map) for key in first})
    if not isinstance(first, Sequence):
        raise TypeError(_MUST.format(kind))
    if any(len(sample) != len(first) for sample in batch):
        raise RuntimeError(f"each element in list of batch should be of equal size; the sizes are {[len(sample) for sample in batch]}")
    columns = list(zip(*batch, strict=True))
    return _like(first, [collate(column, collate_fn_map=collate_fn_map) for column in columns])


def default_collate(batch: Sequence[Any]) -> Any:
    """Combine samples to a batch: stack tensors, convert numbers to tensors, and handle containers recursively.

    >>> from undertow.utils.data import default_collate
    >>> default_collate([{"x": 1, "name": "a"}, {"x": 2, "name": "b"}])
    {'x': tensor([1, 2]), 'name': ['a', 'b']}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
