"""`__torch_function__`: classes and modes that override operators.

The core finds the overrides of a call; `_dispatch` calls them in order: the innermost mode, then the
arguments, a subclass before its base class, otherwise from left to right.
"""

from __future__ import annotations

import sys
from _thread import _local

from undertow import _C
from undertow._C import Tensor
from undertow._C import _disabled_torch_function_impl as _disabled_torch_function_impl
from undertow._C import _has_torch_function_unary as has_torch_function_unary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

__all__ = [
    "BaseTorchFunctionMode",
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "get_ignored_functions",
    "get_overridable_functions",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]

_MODES = 0  # the bits of _C._set_overrides
_DISABLED = 1


class _Stack(_local):
    """The modes of this thread, innermost last."""

    def __init__(self) -> None:
        self.modes: list[TorchFunctionMode] = []


_stack = _Stack()


class DisableTorchFunctionSubclass:
    """Context manager: `__torch_function__` of subclasses is not called; modes still are.

    >>> import undertow as ut
    >>> class Loud(ut.Tensor): ...
    >>> x = ut.ones(2).as_subclass(Loud)
    >>> with ut.overrides.DisableTorchFunctionSubclass():
    ...     type(x + 1).__name__
    'Tensor'
    """

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = _C._set_overrides(_DISABLED, True)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        _C._set_overrides(_DISABLED, self._before)


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """Context manager: no `__torch_function__` is called, neither of subclasses nor of modes."""

    __slots__ = ("_modes",)

    def __enter__(self) -> None:
        super().__enter__()
        self._modes = _C._set_overrides(_MODES, False)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        _C._set_overrides(_MODES, self._modes)
        super().__exit__(kind, error, trace)


class _Without:
    """Context manager that disables a mode while its own code runs; the outer modes remain."""

    __slots__ = ("_mode",)

    def __enter__(self) -> TorchFunctionMode:
        self._mode = _stack.modes.pop()
        _C._set_overrides(_MODES, bool(_stack.modes))
        return self._mode

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        _stack.modes.append(self._mode)
        _C._set_overrides(_MODES, True)


def refuse_classmethod(method: Any) -> None:
    """Raise RuntimeError for a mode's method that is bound to the class: it would be called with the wrong arguments."""
    if getattr(method, "__self__", None) is not None:
        raise RuntimeError(f"Defining your mode's `{method.__name__}` as a classmethod is not supported, please make it a plain method")


class TorchFunctionMode:
    """Overrides every operator in its context: define `__torch_function__` in a subclass.

    >>> import undertow as ut
    >>> class Names(ut.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(ut.overrides.resolve_name(func))
    ...         return func(*args, **(kwargs or {}))
    >>> x = ut.ones(2)
    >>> with Names():
    ...     y = x.exp()
    Tensor.exp
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        raise NotImplementedError

    def __enter__(self) -> TorchFunctionMode:
        refuse_classmethod(type(self).__torch_function__)
        _stack.modes.append(self)
        _C._set_overrides(_MODES, True)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        _stack.modes.pop()
        _C._set_overrides(_MODES, bool(_stack.modes))

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> TorchFunctionMode:
        """Return an instance for use in `with`; the older form of a constructor call."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that does not change operators."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_function_mode() -> TorchFunctionMode | None:
    """Return the innermost mode of this thread."""
    return _stack.modes[-1] if _stack.modes else None


def _get_current_function_mode_stack() -> list[TorchFunctionMode]:
    return list(_stack.modes)


def _dispatch(
    func: Callable[..., Any],
    types: tuple[type, ...],
    overloaded: Sequence[Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    by_core: bool = True,
) -> Any:
    """Call the override of the innermost mode, then of each argument, until one handles the call. Called by the core."""
    if _stack.modes:
        with _Without() as mode:
            result = mode.__torch_function__(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    for each in overloaded:
        if _is_torchs(type(each)):
            continue
        result = each.__torch_function__(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    if not overloaded and not _stack.modes:
        return func(*args, **kwargs)
    name = resolve_name(func) or repr(func)
    strangers = [each for each in types if _is_torchs(each)]
    if strangers:
        raise TypeError(f"{name}: {strangers[0].__module__}.{strangers[0].__name__} is a PyTorch class; convert it with undertow.from_torch")
    modes = f" nor in mode {_stack.modes[-1]!r}" if _stack.modes else ""
    why = f"no implementation found for '{name}' on types that implement __torch_function__: [{', '.join(each.__name__ for each in types)}]{modes}"
    if by_core:  # torch's operators and its functions in Python have different messages
        why = f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned NotImplemented:\n{why}"
    raise TypeError(why)


def _is_torchs(cls: type) -> bool:
    """Return True for PyTorch's own tensors: their override would call our function again, without end.

    Under as_torch our own dtypes, sizes and devices are in the module torch too; they do not override functions. The stand-ins of torch.fx do,
    and are recognized by where their override is defined.
    """
    override = getattr(cls, "__torch_function__", None)
    if cls.__module__.partition(".")[0] != "torch" or override is None or issubclass(cls, Tensor):
        return False
    defined = getattr(getattr(override, "__func__", None), "__globals__", {})
    return not defined.get("__name__", "").startswith("undertow.")


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Return True if a call with these arguments is overridden.

    >>> import undertow as ut
    >>> ut.overrides.has_torch_function((ut.ones(1), 2))
    False
    """
    return _C._has_torch_function(tuple(relevant_args))


def has_torch_function_variadic(*relevant_args: Any) -> bool:
    """`has_torch_function` with separate arguments."""
    return _C._has_torch_function(relevant_args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Call the overrides of `relevant_args` for `public_api(*args, **kwargs)`.

    For functions written in Python, after `has_torch_function` has returned True.
    """
    overloaded = _C._overloaded_args(tuple(relevant_args))
    types = tuple(type(each) for each in overloaded)
    return _dispatch(public_api, types, overloaded, args, kwargs, by_core=False)


def wrap_torch_function(
    dispatcher: Callable[..., Iterable[Any]],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a function so that the arguments returned by `dispatcher(...)` can override it.

    >>> import undertow as ut
    >>> @ut.overrides.wrap_torch_function(lambda a: (a,))
    ... def twice(a):
    ...     return a + a
    >>> twice(ut.ones(1))
    tensor([2.])
    """

    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        from undertow.utils._contextlib import _dressed_as

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return func(*args, **kwargs)

        return _dressed_as(wrapped, func)

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Return True if `inp` is a tensor or has a `__torch_function__`.

    >>> import undertow as ut
    >>> ut.overrides.is_tensor_like(ut.ones(1)), ut.overrides.is_tensor_like(1.0)
    (True, False)
    """
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Return True if `func` is a method of Tensor, or a getter or setter of one of its attributes.

    >>> import undertow as ut
    >>> ut.overrides.is_tensor_method_or_property(ut.Tensor.add), ut.overrides.is_tensor_method_or_property(ut.add)
    (True, False)
    """
    return getattr(func, "__name__", "") in ("__get__", "__set__") or func in _methods()


def _methods() -> set[Any]:
    return {m for m in (getattr(Tensor, name, None) for name in dir(Tensor)) if callable(m)}


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """Return the functions that `__torch_function__` can override, by the module or class that has them.

    >>> import undertow as ut
    >>> ut.exp in ut.overrides.get_overridable_functions()[ut]
    True
    """
    from undertow import fft, linalg, special
    from undertow.nn import functional

    found: dict[Any, list[Callable[..., Any]]] = {}
    operators, ignored = set(_C._ops.values()), get_ignored_functions()
    for module in (sys.modules[_package()], functional, linalg, fft, special):
        names = [n for n in dir(module) if not n.startswith("_")]
        candidates = [f for f in (getattr(module, n, None) for n in names) if callable(f) and not isinstance(f, type)]
        found[module] = [f for f in candidates if (f in operators or hasattr(f, "__wrapped__")) and f not in ignored]
    found[Tensor] = [m for m in _methods() - ignored if not isinstance(m, type)]
    for name in dir(Tensor):
        attribute = Tensor.__dict__.get(name)
        if attribute is not None and hasattr(attribute, "__get__") and hasattr(attribute, "__set__"):
            found.setdefault(Tensor, []).append(attribute.__get__)
    return found


def get_ignored_functions() -> set[Callable[..., Any]]:
    """Return the functions that `__torch_function__` cannot override: functions that create tensors, and methods of every object.

    >>> import undertow as ut
    >>> ut.zeros in ut.overrides.get_ignored_functions()
    True
    """
    import undertow

    makers = "arange as_tensor empty empty_strided eye from_numpy full linspace logspace ones rand randint randn randperm tensor zeros"
    plain = {getattr(Tensor, name) for name in dir(object) if name not in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")}
    return {getattr(undertow, name) for name in makers.split()} | {m for m in plain if callable(m)}


def _package() -> str:
    """Return "undertow", or "torch" under as_torch."""
    return str(_C.float32).partition(".")[0]


def resolve_name(func: Callable[..., Any]) -> str | None:
    """Return the public name of `func`: undertow.exp, Tensor.mul, Tensor.shape.__get__.

    >>> import undertow as ut
    >>> ut.overrides.resolve_name(ut.Tensor.shape.__get__)
    'Tensor.shape.__get__'
    """
    owner = getattr(func, "__self__", None)
    prefix = "torch." if _package() == "torch" else ""
    if owner is not None and hasattr(owner, "__objclass__"):
        return f"{prefix}Tensor.{owner.__name__}.{func.__name__}"
    name = getattr(func, "__name__", None)
    if name is None:
        return None
    qualified = getattr(func, "__qualname__", name)
    if qualified.startswith("Tensor."):
        return prefix + qualified
    return f"{_home(func)}.{name}"


def _home(func: Callable[..., Any]) -> str:
    """Return the public module of a function: of nn.functional, if it is there and not in the package itself."""
    package, module = _package(), str(getattr(func, "__module__", None))
    return f"{package}.nn.functional" if ".nn._functions" in module or module.endswith(".nn.functional") else package


class enable_reentrant_dispatch:
    """Context manager for code written for torch; it has no effect."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None: ...


_unwrapped: frozenset[Any] | None = None


def get_default_nowrap_functions() -> frozenset[Any]:
    """Return the functions whose results the default `__torch_function__` does not convert."""
    global _unwrapped
    if _unwrapped is None:
        names = ("_base", "grad", "_grad")
        _unwrapped = frozenset(getattr(Tensor, name).__get__ for name in names)
    return _unwrapped


def _convert(result: Any, cls: type[Tensor]) -> Any:
    """Convert the tensors in a result to instances of `cls`."""
    if cls is Tensor:
        return result
    if isinstance(result, Tensor):
        return result if isinstance(result, cls) else result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        parts = [_convert(each, cls) for each in result]
        if type(result) in (tuple, list):
            return type(result)(parts)
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return result


def _default_torch_function(
    cls: type[Tensor],
    func: Callable[..., Any],
    types: Iterable[type],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
) -> Any:
    """`Tensor.__torch_function__`: run the function and convert its results to the subclass."""
    if not all(issubclass(cls, each) for each in types) or any(_is_torchs(type(a)) for a in args):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
        return result if func in get_default_nowrap_functions() else _convert(result, cls)
