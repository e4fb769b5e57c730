"""Context managers that control what autograd records: no_grad, enable_grad, set_grad_enabled, inference_mode.

Each changes a thread-local word in the core through a guard. Entering and leaving are performance-critical,
so each is one call into the core and one attribute.
"""

from __future__ import annotations

from _thread import _local

from undertow import _C
from undertow._C import _set_grad_enabled, is_grad_enabled
from undertow.utils._contextlib import _DecoratorContextManager, _NoParamDecoratorContextManager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any

    from undertow._C import Tensor

__all__ = [
    "enable_grad",
    "enforce_grad_layout_policy",
    "inference_mode",
    "is_grad_enabled",
    "is_multithreading_enabled",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]


class no_grad(_NoParamDecoratorContextManager):
    """Context manager that disables recording: results do not require grad. Also a decorator.

    >>> import undertow as ut
    >>> x = ut.ones(1, requires_grad=True)
    >>> with ut.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    >>> @ut.no_grad()
    ... def double(t):
    ...     return t * 2
    >>> double(x).requires_grad
    False
    """

    prev: bool
    __slots__ = ("prev",)

    def __enter__(self) -> None:
        self.prev = is_grad_enabled()
        _set_grad_enabled(False)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        _set_grad_enabled(self.prev)


class enable_grad(_NoParamDecoratorContextManager):
    """Context manager that enables recording again inside `no_grad`. Also a decorator.

    >>> import undertow as ut
    >>> x = ut.ones(1, requires_grad=True)
    >>> with ut.no_grad(), ut.enable_grad():
    ...     y = x * 2
    >>> y.requires_grad
    True
    """

    prev: bool
    __slots__ = ("prev",)

    def __enter__(self) -> None:
        self.prev = is_grad_enabled()
        _set_grad_enabled(True)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        _set_grad_enabled(self.prev)


class set_grad_enabled(_DecoratorContextManager):
    """Enable or disable recording: immediately as a function, in a block as a context manager, or as a decorator.

    >>> import undertow as ut
    >>> with ut.set_grad_enabled(False):
    ...     ut.is_grad_enabled()
    False
    >>> _ = ut.set_grad_enabled(False)
    >>> ut.is_grad_enabled()
    False
    >>> _ = ut.set_grad_enabled(True)
    """

    mode: bool
    prev: bool
    __slots__ = ("mode", "prev")

    def __init__(self, mode: bool) -> None:
        self.prev = is_grad_enabled()
        self.mode = mode
        _set_grad_enabled(mode)

    def __call__(self, orig_func: Callable[..., Any]) -> Callable[..., Any]:
        _set_grad_enabled(self.prev)  # used as a decorator: undo the change made by the constructor
        return super().__call__(orig_func)

    def __enter__(self) -> None:
        _set_grad_enabled(self.mode)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        _set_grad_enabled(self.prev)

    def __repr__(self) -> str:
        return f"{type(self).__module__}.{type(self).__name__}(mode={self.mode})"

    def clone(self) -> set_grad_enabled:
        """Return a context manager with the same mode; creating it sets the mode, as every call does."""
        return type(self)(self.mode)


class inference_mode(_DecoratorContextManager):
    """Like `no_grad`; in addition, tensors created in it can never be recorded later, which saves bookkeeping.

    >>> import undertow as ut
    >>> with ut.inference_mode():
    ...     ut.is_grad_enabled()
    False
    """

    mode: bool
    __slots__ = ("_guard", "mode")

    def __new__(cls, mode: bool | Callable[..., Any] = True) -> Any:
        self = object.__new__(cls)
        if isinstance(mode, bool):
            self.mode = mode
            return self
        self.mode = True
        return self(mode)  # `@inference_mode` without parentheses

    def __enter__(self) -> None:
        self._guard = _C._enter_inference_mode(self.mode)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        _C._exit_inference_mode(self._guard)

    def clone(self) -> inference_mode:
        """Return a context manager with the same mode."""
        return type(self)(self.mode)


def is_multithreading_enabled() -> bool:
    """Return True if backward passes started in this thread may use worker threads."""
    return _C._is_multithreading_enabled()


class set_multithreading_enabled(_DecoratorContextManager):
    """Set whether backward passes may use worker threads or stay on the calling thread.

    >>> from undertow.autograd import is_multithreading_enabled, set_multithreading_enabled
    >>> with set_multithreading_enabled(False):
    ...     is_multithreading_enabled()
    False
    """

    mode: bool
    prev: bool
    __slots__ = ("mode", "prev")

    def __init__(self, mode: bool) -> None:
        self.prev = _C._is_multithreading_enabled()
        self.mode = mode
        _C._set_multithreading_enabled(mode)

    def __call__(self, orig_func: Callable[..., Any]) -> Callable[..., Any]:
        _C._set_multithreading_enabled(self.prev)
        return super().__call__(orig_func)

    def __enter__(self) -> None:
        _C._set_multithreading_enabled(self.mode)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _C._set_multithreading_enabled(self.prev)

    def clone(self) -> set_multithreading_enabled:
        """Return a context manager with the same mode; creating it sets the mode, as every call does."""
        return type(self)(self.mode)


class enforce_grad_layout_policy(_DecoratorContextManager):
    """Set whether a leaf's first gradient is copied to the leaf's strides if its strides differ (True, the default), or kept as it is.

    Takes effect immediately as a function, in a block as a context manager, or as a decorator; for this thread and the passes it starts.

    >>> import undertow as ut
    >>> p = ut.empty(2, 3).t().requires_grad_()
    >>> with ut.autograd.enforce_grad_layout_policy(False):
    ...     p.backward(ut.ones(3, 2))
    """

    prev: bool

    def __init__(self, enable: bool = True) -> None:
        self.prev = _C._is_grad_layout_enforcement_enabled()
        self.mode = enable
        _C._set_grad_layout_enforcement_enabled(enable)

    def __call__(self, orig_func: Callable[..., Any]) -> Callable[..., Any]:
        _C._set_grad_layout_enforcement_enabled(self.prev)
        return super().__call__(orig_func)

    def __enter__(self) -> None:
        _C._set_grad_layout_enforcement_enabled(self.mode)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        _C._set_grad_layout_enforcement_enabled(self.prev)

    def clone(self) -> enforce_grad_layout_policy:
        return self.__class__(self.mode)


class _unsafe_preserve_version_counter(_DecoratorContextManager):
    """Context manager that restores the version counters of these tensors on exit, so that saved tensors pass their check despite writes."""

    def __init__(self, tensors: Tensor | tuple[Tensor, ...]) -> None:
        self.tensors = (tensors,) if isinstance(tensors, _C.Tensor) else tensors
        if not isinstance(self.tensors, tuple):
            raise AssertionError("Expected tensors to be a tuple")
        self.versions = tuple(t._version for t in self.tensors)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        _C._unsafe_set_version_counter(self.tensors, self.versions)


class _ViewReplay(_local):
    enabled = False


_view_replay = _ViewReplay()


def _is_view_replay_enabled() -> bool:
    """Return whether `_force_original_view_tracking(True)` is in effect on this thread."""
    return _view_replay.enabled


def _set_view_replay_enabled(mode: bool) -> None:
    _view_replay.enabled = bool(mode)


class _force_original_view_tracking(_DecoratorContextManager):
    """Set the flag with which PyTorch repeats the steps of a view whose base was written, in place of one as_strided.

    Gradients are the same either way, and Undertow always chooses by itself: it repeats the steps where as_strided cannot express them.
    The flag can be set and read, as a function, a context manager or a decorator.
    """

    def __init__(self, mode: bool) -> None:
        self.prev = _is_view_replay_enabled()
        self.mode = mode
        _set_view_replay_enabled(mode)

    def __call__(self, orig_func: Callable[..., Any]) -> Callable[..., Any]:
        _set_view_replay_enabled(self.prev)
        return super().__call__(orig_func)

    def __enter__(self) -> None:
        _set_view_replay_enabled(self.mode)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        _set_view_replay_enabled(self.prev)

    def clone(self) -> _force_original_view_tracking:
        return self.__class__(self.mode)
