"""Small helpers that programs import from torch._utils."""

from __future__ import annotations

import importlib

import undertow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


def _is_privateuse1_backend_available() -> bool:
    """Return False: custom devices cannot be registered."""
    return False


def _get_available_device_type() -> None:
    """Return None: there is no accelerator."""


def _import_dotted_name(name: str) -> Any:
    """Import and return the object with a dotted name.

    >>> _import_dotted_name("undertow.nn.Linear").__name__
    'Linear'
    """
    first, *rest = name.split(".")
    found = importlib.import_module(first)
    for part in rest:
        found = getattr(found, part)
    return found


def _element_size(dtype: Any) -> int:
    """Return the number of bytes of an element of this dtype.

    >>> _element_size(undertow.float32)
    4
    """
    if not isinstance(dtype, undertow.dtype):
        raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
    return dtype.itemsize


def _flatten_dense_tensors(tensors: Sequence[Any]) -> Any:
    """Concatenate all elements into one vector."""
    return undertow.cat([t.contiguous().view(-1) for t in tensors])


def _unflatten_dense_tensors(flat: Any, tensors: Sequence[Any]) -> tuple[Any, ...]:
    """Split a vector into tensors with the shapes of `tensors`.

    >>> import undertow as ut
    >>> parts = [ut.ones(2, 1), ut.zeros(3)]
    >>> [t.shape for t in _unflatten_dense_tensors(_flatten_dense_tensors(parts), parts)]
    [undertow.Size([2, 1]), undertow.Size([3])]
    """
    pieces = flat.split([t.numel() for t in tensors])
    return tuple(piece.view_as(t) for piece, t in zip(pieces, tensors, strict=True))


class classproperty:
    """A property that is read on the class."""

    def __init__(self, func: Any) -> None:
        self.func = func

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self.func(owner)
