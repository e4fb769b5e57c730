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


def _get_available_device_type() -> str | None:
    """Return the kind of accelerator, or None if there is none."""
    return "cuda" if undertow.cuda.is_available() else None


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


def _rebuild_tensor(storage: Any, storage_offset: int, size: Any, stride: Any) -> Any:
    """Create a tensor over a storage."""
    return undertow.empty(0, dtype=storage.dtype).set_(storage.untyped(), storage_offset, size, stride)


def _rebuild_tensor_v2(
    storage: Any, storage_offset: int, size: Any, stride: Any, requires_grad: bool, backward_hooks: Any, metadata: Any = None
) -> Any:
    """Create a tensor over a storage, as files of torch.save ask for."""
    t = _rebuild_tensor(storage, storage_offset, size, stride)
    return t.requires_grad_(requires_grad)


def _rebuild_parameter(data: Any, requires_grad: bool, backward_hooks: Any) -> Any:
    """Create a parameter."""
    return undertow.nn.Parameter(data, requires_grad)


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """Return the index of a device; -1 for the CPU, where it is allowed."""
    if isinstance(device, int):
        return device
    place = None if device is None else undertow.device(device)
    if place is not None and place.type == "cpu" and not allow_cpu:
        raise ValueError(f"Expected a non cpu device, but got: {device}")
    if place is None and not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    return -1 if place is None or place.index is None else place.index


class KeyErrorMessage(str):
    """A message whose repr is the text itself: KeyError prints the repr of its argument."""

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """An exception with its traceback as text, so that another process or thread can raise it again."""

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        import sys
        import traceback

        kind, error, trace = sys.exc_info() if exc_info is None else exc_info
        self.exc_type: Any = kind
        self.where = where
        self.exc_msg = "".join(traceback.format_exception(kind, error, trace))

    def reraise(self) -> None:
        """Raise an exception of the same type, with the traceback in its message."""
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            message = KeyErrorMessage(message)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=message)
        try:
            error = self.exc_type(message)
        except Exception:
            raise RuntimeError(message) from None
        raise error


class classproperty:
    """A property that is read on the class."""

    def __init__(self, func: Any) -> None:
        self.func = func

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self.func(owner)
