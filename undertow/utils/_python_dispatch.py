"""`__torch_dispatch__`: modes and classes that see every operator, below autograd.

A mode sees the operators of its thread while it is active, and those of backward passes; a class sees those with an instance of it among
the arguments. Which operators these are, and with which arguments, is decided in undertow/_aten.
"""

from __future__ import annotations

from _thread import _local

from undertow import _C
from undertow._C import Tensor
from undertow.overrides import refuse_classmethod

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

__all__ = ["BaseTorchDispatchMode", "TorchDispatchMode", "is_traceable_wrapper_subclass", "return_and_correct_aliasing", "transform_subclass"]


class _Stack(_local):
    """The modes of this thread, innermost last."""

    def __init__(self) -> None:
        self.modes: list[TorchDispatchMode] = []
        self.disabled = 0


_stack = _Stack()


class TorchDispatchMode:
    """Sees every operator in its context, below autograd: define `__torch_dispatch__` in a subclass.

    While `__torch_dispatch__` runs, the mode is not active, so it can call the operator, or others.

    >>> import undertow as ut
    >>> class Names(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*args, **(kwargs or {}))
    >>> x = ut.ones(2, requires_grad=True)
    >>> with Names():
    ...     x.exp().sum().backward()
    aten.exp.default
    aten.detach.default
    aten.sum.default
    aten.ones_like.default
    aten.expand.default
    aten.detach.default
    aten.mul.Tensor
    aten.detach.default
    """

    def __init__(self, _dispatch_key: Any = None) -> None:
        pass

    def __torch_dispatch__(self, func: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        refuse_classmethod(type(self).__torch_dispatch__)
        _push_mode(self)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> Any:
        _pop_mode()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> TorchDispatchMode:
        """Return an instance for use in `with`; the older form of a constructor call."""
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Return False: the mode is the user's."""
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that does not change operators."""

    def __torch_dispatch__(self, func: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _push_mode(mode: TorchDispatchMode) -> None:
    """Make the mode the innermost one."""
    _stack.modes.append(mode)
    _C._set_dispatch_mode(not _stack.disabled)


def _pop_mode(k: Any = None) -> TorchDispatchMode:
    """Remove the innermost mode, and return it."""
    mode = _stack.modes.pop()
    _C._set_dispatch_mode(bool(_stack.modes) and not _stack.disabled)
    return mode


class _pop_mode_temporarily:
    """Context manager: the innermost mode is not active."""

    def __init__(self, k: Any = None) -> None:
        pass

    def __enter__(self) -> TorchDispatchMode:
        self._mode = _pop_mode()
        return self._mode

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        _push_mode(self._mode)


class _disable_current_modes:
    """Context manager: no mode is active; returns the modes.

    >>> with TorchDispatchMode(), _disable_current_modes() as modes:
    ...     len(modes), _get_current_dispatch_mode()
    (1, None)
    """

    def __enter__(self) -> list[TorchDispatchMode]:
        self._modes, _stack.modes = _stack.modes, []
        _C._set_dispatch_mode(False)
        return list(self._modes)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        _stack.modes = self._modes
        _C._set_dispatch_mode(bool(self._modes) and not _stack.disabled)


class _DisableTorchDispatch:
    """Context manager: neither modes nor classes see operators. Tensors without memory cannot be used in it."""

    def __enter__(self) -> None:
        _stack.disabled += 1
        _C._set_dispatch_mode(False)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        _stack.disabled -= 1
        _C._set_dispatch_mode(bool(_stack.modes) and not _stack.disabled)


def _get_current_dispatch_mode() -> TorchDispatchMode | None:
    """Return the innermost mode of this thread."""
    return _stack.modes[-1] if _stack.modes else None


def _get_current_dispatch_mode_stack() -> list[TorchDispatchMode]:
    """Return the modes of this thread, innermost last."""
    return list(_stack.modes)


def _len_torch_dispatch_stack() -> int:
    return len(_stack.modes)


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Return True if a mode is active; modes whose `is_infra_mode` is True can be left out."""
    return any(include_infra_modes or not mode.is_infra_mode() for mode in _stack.modes)


is_in_any_mode_without_ignore_compile_internals = is_in_torch_dispatch_mode


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Return True for a tensor whose class names the tensors inside it, by `__tensor_flatten__` and `__tensor_unflatten__`."""
    return isinstance(t, Tensor) and is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Return True for a class of such tensors."""
    return issubclass(t, Tensor) and t is not Tensor and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def transform_subclass(t: Any, callback: Callable[[str, Tensor], Tensor], outer_size: Any = None, outer_stride: Any = None) -> Any:
    """Return a tensor of the same class whose inner tensors are those that `callback(name, inner)` returns."""
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    size = outer_size if outer_size is not None else t.size()
    stride = outer_stride if outer_stride is not None else t.stride()
    made = type(t).__tensor_unflatten__(inner, context, size, stride)
    if made.shape != size:
        raise AssertionError(f"Expected return value from {type(t)}__tensor_unflatten__() to have shape equal to {size}, but got: {made.shape}")
    return made


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """Return what an operator must return: the argument itself where it writes to one, else `out`.

    Call it at the end of a class's `__torch_dispatch__`, as in torch. Results of views need no change: a wrapper has no memory to share.
    """
    schema = func._schema
    written = {a.name: i for i, a in enumerate(schema.arguments) if a.alias_info is not None and a.alias_info.is_write}
    if not written:
        return out
    given = dict(zip((a.name for a in schema.arguments), args, strict=False)) | (kwargs or {})
    by_set = {frozenset(schema.arguments[i].alias_info.before_set): given.get(name) for name, i in written.items()}
    mutated = [None if r.alias_info is None else by_set.get(frozenset(r.alias_info.before_set)) for r in schema.returns]
    if len(mutated) == 1:
        return out if mutated[0] is None else mutated[0]
    return type(out)(o if m is None else m for o, m in zip(out, mutated, strict=True)) if out is not None else out
