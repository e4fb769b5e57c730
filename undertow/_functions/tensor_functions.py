"""Module-level functions about tensors and dtypes that are not operators."""

from __future__ import annotations

from undertow import _C
from undertow._C import Tensor
from undertow._override import overridable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from undertow._C import memory_format as _memory_format
    from undertow._C._types import Number

__all__ = [
    "addmv_",
    "detach_",
    "embedding_renorm_",
    "get_device",
    "index_put_",
    "is_complex",
    "is_conj",
    "is_floating_point",
    "is_inference",
    "is_neg",
    "is_nonzero",
    "is_same_size",
    "is_signed",
    "is_storage",
    "is_tensor",
    "numel",
    "resize_as_",
]


def is_tensor(obj: Any, /) -> bool:
    """Return True if `obj` is a tensor.

    >>> import undertow as ut
    >>> ut.is_tensor(ut.ones(2)), ut.is_tensor([1.0])
    (True, False)
    """
    return isinstance(obj, Tensor)


def is_storage(obj: Any, /) -> bool:
    """Return True if `obj` is a storage."""
    if isinstance(obj, _C.UntypedStorage):
        return True
    from undertow.storage import TypedStorage

    return isinstance(obj, TypedStorage)


def _method(function: Any, input: Tensor, *args: Any) -> Any:
    """Call the method of the same name, or the override of the function."""
    name = function.__name__
    if isinstance(input, Tensor):
        return getattr(input, name)(*args)
    if not hasattr(type(input), "__torch_function__"):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    from undertow.overrides import handle_torch_function

    return handle_torch_function(function, (input,), input, *args)


def is_complex(input: Tensor) -> bool:
    """Return True if the dtype is complex."""
    return _method(is_complex, input)


def is_conj(input: Tensor) -> bool:
    """Return True if the tensor is a conjugate view."""
    return _method(is_conj, input)


def is_floating_point(input: Tensor) -> bool:
    """Return True if the dtype is floating point."""
    return _method(is_floating_point, input)


def is_inference(input: Tensor) -> bool:
    """Return True if the tensor was created in inference mode."""
    return _method(is_inference, input)


def is_neg(input: Tensor) -> bool:
    """Return True if the tensor is a negative view."""
    return _method(is_neg, input)


def is_signed(input: Tensor) -> bool:
    """Return True if the dtype is signed."""
    return _method(is_signed, input)


def get_device(input: Tensor) -> int:
    """Return the device index; -1 for the CPU."""
    return _method(get_device, input)


def numel(input: Tensor) -> int:
    """Return the number of elements."""
    return _method(numel, input)


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Return True if both tensors have the same shape."""
    return _method(is_same_size, input, other)


@overridable
def is_nonzero(input: Tensor) -> bool:
    """Return True if the single element of `input` is not zero.

    >>> import undertow as ut
    >>> ut.is_nonzero(ut.tensor([0.0]))
    False
    """
    return input.is_nonzero()


def _in_place(name: str) -> Any:
    """Return the function form of an in-place method."""

    def function(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return getattr(input, name)(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"See `Tensor.{name}`."
    return function


if TYPE_CHECKING:

    def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor: ...
    def detach_(input: Tensor) -> Tensor: ...
    def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float = 2.0) -> Tensor: ...
    def index_put_(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False) -> Tensor: ...
    def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: _memory_format | None = None) -> Tensor: ...
else:
    addmv_ = _in_place("addmv_")
    detach_ = _in_place("detach_")
    embedding_renorm_ = _in_place("embedding_renorm_")
    index_put_ = _in_place("index_put_")
    resize_as_ = _in_place("resize_as_")
