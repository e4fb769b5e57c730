"""Moves the tensors of a batch to memory of the host that a GPU can copy directly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import undertow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def pin_memory(data: Any, device: Any = None) -> Any:
    """Return the batch with its tensors in pinned memory; an object with its own method `pin_memory` is asked for its result.

    Without a GPU, tensors stay where they are.

    >>> pin_memory({"name": "a batch"})
    {'name': 'a batch'}
    """
    if isinstance(data, undertow.Tensor):
        return data.pin_memory() if undertow.cuda.is_available() else data
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        pinned = {key: pin_memory(value) for key, value in data.items()}
        return pinned if type(data) is dict else type(data)(pinned)  # type: ignore[call-arg]  # a mapping is made from one
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(pin_memory(value) for value in data))
    if isinstance(data, Sequence):
        values = [pin_memory(value) for value in data]
        return values if type(data) is list else type(data)(values)  # type: ignore[call-arg]  # a sequence is made from one
    return data
