"""`torch._check` and related functions: raise a given exception class unless a condition holds."""

from __future__ import annotations

from undertow._C import Tensor
from undertow.overrides import handle_torch_function, has_torch_function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

NAMES = (
    "_assert",
    "_assert_async",
    "_check",
    "_check_index",
    "_check_is_size",
    "_check_not_implemented",
    "_check_tensor_all",
    "_check_tensor_all_with",
    "_check_type",
    "_check_value",
    "_check_with",
)


def _check_with(error_type: type[Exception], cond: bool, message: Callable[[], Any] | None = None) -> None:
    """Raise `error_type` unless `cond` is True; `message` is a function that returns the error message.

    >>> _check_with(ValueError, False, lambda: "batch must not be empty")
    Traceback (most recent call last):
    ValueError: batch must not be empty
    """
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is not None and not callable(message):
        raise TypeError("message must be a callable")
    raise error_type("Expected cond to be True, but got False." if message is None else str(message()))


def _of(error_type: type[Exception]) -> Callable[..., None]:
    def check(cond: bool, message: Callable[[], Any] | None = None) -> None:
        _check_with(error_type, cond, message)

    check.__doc__ = f"Raise a {error_type.__name__} unless `cond` is True."
    return check


_check, _check_index, _check_type, _check_value = (_of(kind) for kind in (RuntimeError, IndexError, TypeError, ValueError))
_check_not_implemented = _of(NotImplementedError)


def _check_is_size(i: int, message: Callable[[], Any] | None = None, *, max: int | None = None) -> None:
    """Raise a RuntimeError unless `i` is a size: at least zero, and at most `max`."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_tensor_all_with(error_type: type[Exception], cond: Tensor, message: Callable[[], Any] | None = None) -> None:
    """Raise `error_type` unless every element of `cond` is True."""
    if not isinstance(cond, Tensor) or "bool" not in str(cond.dtype):
        raise TypeError(f"cond must be a tensor of bool, but got {getattr(cond, 'dtype', type(cond))}")
    _check_with(error_type, bool(cond.all().item()), message)


def _check_tensor_all(cond: Tensor, message: Callable[[], Any] | None = None) -> None:
    """Raise a RuntimeError unless every element of `cond` is True."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _assert(condition: Any, message: str) -> None:
    """Raise an AssertionError unless the condition holds, also under `python -O`. A stand-in of torch.fx records it."""
    if not isinstance(condition, (bool, Tensor)) and has_torch_function((condition,)):
        return handle_torch_function(_assert, (condition,), condition, message)
    if not condition:
        raise AssertionError(message)
    return None


def _assert_async(input: Tensor, assert_msg: str | None = None) -> None:
    """Raise a RuntimeError if the single element is zero."""
    if not input.is_nonzero():
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


def _shape_as_tensor(self: Any) -> Any:
    """Return the sizes as an integer tensor."""
    import undertow

    return undertow.tensor(list(self.shape), dtype=undertow.int64)
