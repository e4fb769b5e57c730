"""Module-level functions about tensors and dtypes that are no operators."""

from __future__ import annotations

from undertow import _C
from undertow._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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
    """Whether `obj` is a tensor.

    >>> import undertow as ut
    >>> ut.is_tensor(ut.ones(2)), ut.is_tensor([1.0])
    (True, False)
    """
    return isinstance(obj, Tensor)


def is_storage(obj: Any, /) -> bool:
    """Whether `obj` is a storage."""
    if isinstance(obj, _C.UntypedStorage):
        return True
    from undertow.storage import TypedStorage

    return isinstance(obj, TypedStorage)


def _of_tensor(name: str) -> Any:
    """The function of a method that takes nothing but the tensor."""
    method = getattr(Tensor, name)

    def function(input: Tensor, *args: Any) -> Any:
        if not isinstance(input, Tensor) and not hasattr(type(input), "__torch_function__"):
            raise TypeError(
                f"{name}(): argument 'input' (position 1) must be Tensor, "
                f"not {type(input).__name__}"
            )
        return getattr(input, name)(*args) if isinstance(input, Tensor) else _hand_over(function, input, *args)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = method.__doc__ or f"`input.{name}()`."
    return function


def _hand_over(function: Any, input: Any, *args: Any) -> Any:
    from undertow.overrides import handle_torch_function

    return handle_torch_function(function, (input,), input, *args)


is_complex = _of_tensor("is_complex")
is_conj = _of_tensor("is_conj")
is_floating_point = _of_tensor("is_floating_point")
is_inference = _of_tensor("is_inference")
is_neg = _of_tensor("is_neg")
is_same_size = _of_tensor("is_same_size")
is_signed = _of_tensor("is_signed")
get_device = _of_tensor("get_device")
numel = _of_tensor("numel")


def is_nonzero(input: Tensor) -> bool:
    """Whether the one element of `input` is not zero.

    >>> import undertow as ut
    >>> ut.is_nonzero(ut.tensor([0.0]))
    False
    """
    return input.is_nonzero()


def _in_place(name: str) -> Any:
    """The function of a method that writes into its tensor."""

    def function(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return getattr(input, name)(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"See `Tensor.{name}`."
    return function


addmv_ = _in_place("addmv_")
detach_ = _in_place("detach_")
embedding_renorm_ = _in_place("embedding_renorm_")
index_put_ = _in_place("index_put_")
resize_as_ = _in_place("resize_as_")
