"""Forward mode: tensors that carry a tangent, and the level in which they exist."""

from __future__ import annotations

import sys

from undertow import _C
from undertow.utils._contextlib import _DecoratorContextManager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]

_current_level = -1  # the open level; at most one per process, as in the core


def enter_dual_level() -> int:
    """Open a level, in which `make_dual` may be used, and return its number."""
    global _current_level
    _current_level = _C._enter_dual_level()
    return _current_level


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level and drop all of its tangents."""
    global _current_level
    if level is None:
        level = _current_level
    if level != _current_level:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. "
            f"This is not supported: got {level}, the last is {_current_level}"
        )
    _C._exit_dual_level(level)
    _current_level = level - 1


def _maybe_level(level: int | None) -> int:
    return _current_level if level is None else level


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """Return a view of `tensor` that carries `tangent`; results computed from it carry tangents too.

    >>> import undertow as ut
    >>> import undertow.autograd.forward_ad as fw
    >>> with fw.dual_level():
    ...     x = fw.make_dual(ut.tensor([1.0, 2.0]), ut.tensor([1.0, 0.0]))
    ...     fw.unpack_dual(x * x).tangent
    tensor([2., 0.])
    """
    if _maybe_level(level) < 0:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first."
        )
    for name, value in (("primal", tensor), ("tangent", tangent)):
        if not (value.is_floating_point() or value.is_complex()):
            raise ValueError(
                f"Expected {name} to be floating point or complex, but got: {value.dtype}"
            )
    if _C._batched_level(tensor) >= 0:
        from undertow._vmap import _wrapping

        return _wrapping.make_dual(tensor, tangent)
    return _C._make_dual(tensor, tangent)


class UnpackedDualTensor(tuple):
    """The two parts of a dual tensor: a named tuple of primal and tangent."""

    # Written by hand, because importing collections.namedtuple would be a large part of our import time.
    __slots__ = ()
    __match_args__ = _fields = ("primal", "tangent")

    def __new__(cls, primal: Tensor, tangent: Tensor | None) -> UnpackedDualTensor:
        return tuple.__new__(cls, (primal, tangent))

    @property
    def primal(self) -> Tensor:
        """The value."""
        return self[0]

    @property
    def tangent(self) -> Tensor | None:
        """The tangent, or None."""
        return self[1]

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self, strict=True))

    def __repr__(self) -> str:
        return f"UnpackedDualTensor(primal={self.primal!r}, tangent={self.tangent!r})"


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Return the value of a dual tensor without its tangent, and the tangent, both as views.

    >>> import undertow as ut
    >>> import undertow.autograd.forward_ad as fw
    >>> fw.unpack_dual(ut.ones(1)).tangent is None
    True
    """
    if _maybe_level(level) < 0:
        return UnpackedDualTensor(tensor, None)
    if _C._batched_level(tensor) >= 0:
        from undertow._vmap import _wrapping

        return UnpackedDualTensor(*_wrapping.unpack_dual(tensor))
    return UnpackedDualTensor(*_C._unpack_dual(tensor))


class dual_level(_DecoratorContextManager):
    """Context manager that opens a level for a block; also a decorator.

    >>> import undertow as ut
    >>> import undertow.autograd.forward_ad as fw
    >>> with fw.dual_level():
    ...     x = fw.make_dual(ut.ones(1), ut.ones(1))
    >>> fw.unpack_dual(x).tangent is None
    True
    """

    __slots__ = ()

    def __enter__(self) -> int:  # type: ignore[override]  # gives the level
        return enter_dual_level()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        exit_dual_level()


def _in_jvp_by_reverse() -> bool:
    """Whether the innermost transform is a jvp inside of a jvp: its derivatives are those of reverse mode."""
    levels = sys.modules.get("undertow._vmap._levels")
    level = levels and levels.innermost_grad()
    return bool(level and level.by_reverse)


class _set_fwd_grad_enabled(_DecoratorContextManager):
    """Enable or disable forward mode immediately, and restore it at the end of a block. If disabled, operations ignore tangents."""

    __slots__ = ("grad_mode", "mode", "prev")

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self.prev = _C._is_fwd_grad_enabled()
        self.grad_mode = _C.is_grad_enabled() if _in_jvp_by_reverse() else None
        _C._set_fwd_grad_enabled(mode)
        if self.grad_mode is not None:
            _C._set_grad_enabled(mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        _C._set_fwd_grad_enabled(self.prev)
        if self.grad_mode is not None:
            _C._set_grad_enabled(self.grad_mode)

    def clone(self) -> _set_fwd_grad_enabled:
        """Return a new context manager with the same mode, for the next call of a decorated function."""
        return type(self)(self.mode)
