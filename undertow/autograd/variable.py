"""`Variable`, the old name of a tensor with autograd, and torch's location of the engine."""

from __future__ import annotations

from undertow import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Variable", "VariableMeta"]


class VariableMeta(type):
    """Metaclass that makes every tensor an instance of `Variable`."""

    def __instancecheck__(cls, other: Any) -> bool:
        return isinstance(other, _C.Tensor)


class Variable(metaclass=VariableMeta):
    """The old name of a tensor: calling it returns a new leaf over the same data.

    >>> import undertow as ut
    >>> x = ut.autograd.Variable(ut.ones(2), requires_grad=True)
    >>> type(x) is ut.Tensor, isinstance(x, ut.autograd.Variable)
    (True, True)
    """

    _execution_engine = _C._ImperativeEngine()

    def __new__(
        cls, data: Any = None, requires_grad: bool = False, volatile: bool | None = None
    ) -> Any:
        if volatile:
            import warnings

            warnings.warn(
                "volatile was removed and now has no effect. Use `with undertow.no_grad():`.",
                stacklevel=2,
            )
        if data is None:
            import undertow as ut

            data = ut.empty(0)
        if not isinstance(data, _C.Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        return data.detach().requires_grad_(requires_grad)
