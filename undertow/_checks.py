"""`_check` and its kin: what libraries assert about their inputs, with torch's names."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _raising(error: type[Exception]) -> Callable[..., None]:
    def check(cond: bool, message: Callable[[], object] | None = None) -> None:
        if not isinstance(cond, bool):
            raise TypeError(f"cond must be a bool, but got {type(cond)}")
        if not cond:
            raise error("Expected cond to be True, but got False" if message is None else str(message()))

    check.__doc__ = f"Raises a {error.__name__} with the message, which is made only then, where the condition does not hold."
    return check


_check = _raising(RuntimeError)
_check_index = _raising(IndexError)
_check_value = _raising(ValueError)
_check_type = _raising(TypeError)
_check_not_implemented = _raising(NotImplementedError)


def _check_is_size(i: int, message: Callable[[], object] | None = None, *, max: int | None = None) -> None:
    """Raises where this is no size of a dimension."""
    _check(i >= 0 and (max is None or i <= max), message)


def _check_tensor_all(cond: Any, message: Callable[[], object] | None = None) -> None:
    """Raises where one of the booleans is False."""
    _check(bool(cond.all()), message)


def _assert(condition: Any, message: str) -> None:
    """An assertion, which a tracer could see."""
    if not condition:
        raise AssertionError(message)


def _assert_async(input: Any, assert_msg: str = "Expected Tensor with single nonzero value, but got zero") -> None:
    """Raises where the one element is zero; nothing here waits."""
    if not bool(input):
        raise RuntimeError(assert_msg)


def _shape_as_tensor(self: Any) -> Any:
    """The sizes as integers."""
    import undertow

    return undertow.tensor(list(self.shape), dtype=undertow.int64)
