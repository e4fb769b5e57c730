"""User-defined operators, like `torch.library`: `custom_op` and the functions registered for it.

An operator is a Python function that can be found by name (`ops.mylib.name`), with an optional derivative. There is no
dispatcher: kernels are selected by the device type of the first tensor, and a fake kernel is used for tensors on "meta". Operators that a C++
library defines can be given the same parts; see `_compiled_ops.py`.
"""

from __future__ import annotations

import inspect

import undertow
from undertow._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

__all__ = ["CustomOpDef", "custom_op", "infer_schema", "register_autograd", "register_fake", "register_kernel", "register_vmap"]

_ops: dict[str, CustomOpDef] = {}
_unloadable: list[str] = []  # libraries of compiled operators that could not be loaded


def _tensors(values: Iterable[Any]) -> list[Tensor]:
    found = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += _tensors(value)
    return found


class CustomOpDef:
    """The result of `custom_op`: a callable operator, with methods that register its parts."""

    __name__: str

    def __init__(self, namespace: str, name: str, fn: Callable[..., Any], mutates_args: Any, device_types: Any = None) -> None:
        self._namespace, self._name, self._qualname = namespace, name, f"{namespace}::{name}"
        self._signature = inspect.signature(fn)
        names = list(self._signature.parameters)
        self._mutates = names if mutates_args == "unknown" else list(mutates_args)
        for unknown in (n for n in self._mutates if n not in names):
            raise ValueError(f"custom_op {self._qualname}: mutates_args names {unknown!r}, but the parameters are {names}")
        self._kernels: dict[str | None, Callable[..., Any]] = {}
        self._fake: Callable[..., Any] | None = None
        self._backward: Callable[..., Any] | None = None
        self._setup: Callable[..., Any] | None = None
        self._function: Any = None
        self.__doc__, self.__name__ = fn.__doc__, name
        self.register_kernel(device_types, fn)
        _ops[self._qualname] = self

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def register_kernel(self, device_types: Any, fn: Callable[..., Any] | None = None, /) -> Any:
        """Register the function for tensors on these device types; None means all."""
        if fn is None:
            return lambda f: self.register_kernel(device_types, f)
        for device in [device_types] if device_types is None or isinstance(device_types, str) else device_types:
            self._kernels[device] = fn
        return fn

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Register the function for tensors without values, on the device "meta"."""
        self._fake = fn
        return fn

    def register_autograd(self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None) -> None:
        """Register the derivative: `backward(ctx, *grads)`, which uses what `setup_context(ctx, inputs, output)` saved."""
        self._backward, self._setup, self._function = backward, setup_context, None

    def register_vmap(self, func: Callable[..., Any] | None = None) -> Any:
        """Register the rule for `vmap`: `func(info, in_dims, *args)` returns the result and its batch dimension."""
        if func is None:
            return self.register_vmap
        self._vmap, self._function = func, None
        return func

    _vmap: Callable[..., Any] | None = None

    def _kernel(self, values: Sequence[Any]) -> Callable[..., Any]:
        tensors = _tensors(values)
        device = tensors[0].device.type if tensors else "cpu"
        if device == "meta":
            if self._fake is None:
                raise NotImplementedError(f"{self._qualname}: no fake kernel for tensors on meta; register one with register_fake")
            return self._fake
        kernel = self._kernels.get(device) or self._kernels.get(None)
        if kernel is None:
            raise NotImplementedError(f"{self._qualname}: no kernel for device type {device!r}; kernels exist for {sorted(map(str, self._kernels))}")
        return kernel

    def _run(self, values: Sequence[Any]) -> Any:
        bound = inspect.BoundArguments(self._signature, dict(zip(self._signature.parameters, values, strict=True)))
        return self._kernel(values)(*bound.args, **bound.kwargs)

    def _recorded(self) -> Any:
        """The autograd Function of this operator; created after the derivative is registered."""
        if self._function is not None:
            return self._function
        op = self
        mutated = [i for i, name in enumerate(self._signature.parameters) if name in self._mutates]

        class Recorded(undertow.autograd.Function):
            generate_vmap_rule = op._vmap is None

            @staticmethod
            def forward(*values: Any) -> Any:
                return op._run(values)

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                written = _tensors(inputs[i] for i in mutated)
                if written:
                    ctx.mark_dirty(*written)
                if op._setup is not None:
                    keyword_only = {n for n, p in op._signature.parameters.items() if p.kind is p.KEYWORD_ONLY}
                    named = dict(zip(op._signature.parameters, inputs, strict=True))
                    plain = tuple(v for n, v in named.items() if n not in keyword_only)
                    extra = {"keyword_only_inputs": {n: named[n] for n in keyword_only}} if keyword_only else {}
                    op._setup(ctx, plain, output, **extra)

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> Any:
                if op._backward is None:
                    raise RuntimeError(f"{op._qualname}: it has no derivative; register one with register_autograd")
                return op._backward(ctx, *grads)

        if op._vmap is not None:
            rule = op._vmap
            given = staticmethod(lambda info, in_dims, *values: rule(info, in_dims, *values))
            Recorded.vmap = given  # type: ignore[method-assign]  # only where the operator has a rule
        Recorded.__name__ = f"{self._namespace}_{self._name}"
        self._function = Recorded
        return Recorded

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        values = tuple(bound.arguments.values())
        needed = undertow.is_grad_enabled() and any(t.requires_grad for t in _tensors(values))
        if needed or self._vmap is not None:
            return self._recorded().apply(*values)
        return self._run(values)


def _split(name: str) -> tuple[str, str]:
    namespace, found, rest = name.partition("::")
    if not found or not namespace or not rest:
        raise ValueError(f"an operator's name must be namespace::name, but got {name!r}")
    return namespace, rest


def custom_op(
    name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: Any, device_types: Any = None, schema: str | None = None, tags: Any = None
) -> Any:
    """Make a function an operator with the name `namespace::name`; without `fn`, return a decorator.

    >>> import undertow as ut
    >>> @ut.library.custom_op("demo::double", mutates_args=())
    ... def double(x: ut.Tensor) -> ut.Tensor:
    ...     return x * 2
    >>> ut.ops.demo.double(ut.ones(2))
    tensor([2., 2.])
    """
    namespace, rest = _split(name)

    def made(fn: Callable[..., Any]) -> CustomOpDef:
        return CustomOpDef(namespace, rest, fn, mutates_args, device_types)

    return made if fn is None else made(fn)


def _found(op: Any) -> CustomOpDef:
    if isinstance(op, CustomOpDef):
        return op
    found = _named(op) if isinstance(op, str) else None
    if not isinstance(found, CustomOpDef):
        raise ValueError(f"no operator {op!r}; create it with custom_op. Existing operators: {sorted(_ops)}")
    return found


def _named(name: str) -> Any:
    """Return the operator `namespace::name` that Python or a C++ library defined, or None."""
    if name in _ops:
        return _ops[name]
    from undertow import _compiled_ops

    return _compiled_ops.find(name)


def register_fake(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None, _stacklevel: int = 1, allow_override: bool = False) -> Any:
    """See `CustomOpDef.register_fake`."""
    if func is None:
        return lambda f: register_fake(op, f)
    if isinstance(op, str) and _unloadable and _named(op) is None:
        return func  # for tracing an operator of a library that could not be loaded; both are missing
    return _found(op).register_fake(func)


def register_kernel(op: Any, device_types: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None) -> Any:
    """See `CustomOpDef.register_kernel`."""
    return _found(op).register_kernel(device_types, func)


def register_autograd(op: Any, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None, lib: Any = None) -> None:
    """See `CustomOpDef.register_autograd`."""
    _found(op).register_autograd(backward, setup_context=setup_context)


def register_vmap(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None) -> Any:
    """See `CustomOpDef.register_vmap`."""
    return _found(op).register_vmap(func)


_WORDS = {"Tensor": "Tensor", "int": "SymInt", "float": "float", "bool": "bool", "str": "str", "None": "()"}


def infer_schema(prototype_function: Callable[..., Any], /, *, mutates_args: Any, op_name: str | None = None) -> str:
    """Return the function's schema from its annotations, which must be plain types.

    >>> from undertow import Tensor
    >>> from undertow.library import infer_schema
    >>> def f(x: Tensor, n: int = 2) -> Tensor: ...
    >>> infer_schema(f, mutates_args=())
    '(Tensor x, SymInt n=2) -> Tensor'
    """

    def word(annotation: Any, where: str) -> str:
        name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
        if name.rpartition(".")[2] not in _WORDS:
            raise ValueError(f"infer_schema: {where} has the unsupported type {annotation}")
        return _WORDS[name.rpartition(".")[2]]

    signature = inspect.signature(prototype_function)
    parts: list[str] = []
    for name, parameter in signature.parameters.items():
        mark = f"(a{len(parts)}!)" if mutates_args != "unknown" and name in mutates_args else ""
        default = "" if parameter.default is parameter.empty else f"={parameter.default}"
        parts.append(f"{word(parameter.annotation, f'parameter {name}')}{mark} {name}{default}")
    returned = signature.return_annotation
    return f"{op_name or ''}({', '.join(parts)}) -> {word('None' if returned is None else returned, 'the result')}"
