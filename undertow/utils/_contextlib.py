"""Context managers that also decorate functions and generator functions.

The standard library's ContextDecorator would keep its context open across the yields of a generator, so
that a mode leaks into the caller. Here the context is left at each yield and entered again after it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import TracebackType
    from typing import Any, Self

_CO_GENERATOR = 0x20  # inspect.CO_GENERATOR; importing inspect takes longer than importing this package


def _is_generator_function(func: Any) -> bool:
    while hasattr(func, "func") and not hasattr(func, "__code__"):
        func = func.func  # functools.partial
    code = getattr(func, "__code__", None)
    return code is not None and bool(code.co_flags & _CO_GENERATOR)


def _dressed_as(wrapper: Any, wrapped: Any) -> Any:
    """Like `functools.update_wrapper`, without importing functools."""
    for name in ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__"):
        if hasattr(wrapped, name):
            setattr(wrapper, name, getattr(wrapped, name))
    wrapper.__dict__.update(getattr(wrapped, "__dict__", {}))
    wrapper.__wrapped__ = wrapped
    return wrapper


def _wrap_generator(
    make_context: Callable[[], Any], func: Callable[..., Any]
) -> Callable[..., Any]:
    """Run each part of a generator, from one yield to the next, in a new context."""

    def run_in_stretches(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        gen = func(*args, **kwargs)
        resume, value = gen.send, None
        while True:
            try:
                with make_context():
                    response = resume(value)
            except StopIteration as end:
                return end.value
            try:
                resume, value = gen.send, (yield response)
            except GeneratorExit:
                with make_context():
                    gen.close()
                raise
            except BaseException as error:
                resume, value = gen.throw, error

    return run_in_stretches


def context_decorator(
    make_context: Callable[[], Any], func: Callable[..., Any]
) -> Callable[..., Any]:
    """Decorate `func` so that each call runs in a context created by `make_context()`.

    >>> import undertow as ut
    >>> from undertow.utils._contextlib import context_decorator
    >>> context_decorator(ut.no_grad, ut.is_grad_enabled)()
    False
    """
    if _is_generator_function(func):
        return _dressed_as(_wrap_generator(make_context, func), func)

    def run_in_context(*args: Any, **kwargs: Any) -> Any:
        with make_context():
            return func(*args, **kwargs)

    return _dressed_as(run_in_context, func)


class _DecoratorContextManager:
    """A context manager that is also a decorator: each call of the function enters a clone.

    It uses clones because a decorated function may run in several threads or call itself.
    """

    __slots__ = ()

    def __call__(self, orig_func: Callable[..., Any]) -> Callable[..., Any]:
        if not isinstance(orig_func, type):
            return context_decorator(self.clone, orig_func)
        import warnings

        warnings.warn(
            "Decorating classes is deprecated and will be disabled in future versions: only the "
            "call of the class runs in the context, not its methods; decorate functions, or the "
            "class's `__init__`, instead.",
            FutureWarning,
            stacklevel=2,
        )

        def call_class(*args: Any, **kwargs: Any) -> Any:
            return orig_func(*args, **kwargs)

        return context_decorator(self.clone, call_class)

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        raise NotImplementedError

    def clone(self) -> Self:
        """Return a new context manager with the same settings."""
        return type(self)()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """A context manager without settings, which can decorate without parentheses."""

    __slots__ = ()

    def __new__(cls, orig_func: Callable[..., Any] | None = None) -> Any:
        self = object.__new__(cls)
        return self if orig_func is None else self(orig_func)
