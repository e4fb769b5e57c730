"""Operators made from a Python function: `library.custom_op`."""

from __future__ import annotations

from contextlib import contextmanager

from undertow import _C
from undertow._aten import tensors_in
from undertow._library._overload import LibraryOverload, define, undefine
from undertow._library._parts import Parts, _all, backend_key, register_kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


class _CustomOverload(LibraryOverload):
    """The overload of a CustomOpDef. Its results are new tensors."""

    is_custom = True

    def _call_kernel(self, key: str, values: dict[str, Any]) -> Any:
        result = super()._call_kernel(key, values)
        given = {id(t) for t in tensors_in(values.values())}
        memory = {_address(t) for t in tensors_in(values.values())} - {0}
        for t in tensors_in(result if isinstance(result, (list, tuple)) else (result,)):
            if id(t) in given or _address(t) in memory:
                raise RuntimeError(
                    f"{self._opname} ({self.name()}): The output of this custom operator (1) must not also be an input to this custom operator and "
                    "(2) may not alias any inputs to this custom operator or other returns. Return a clone, such as x.clone()."
                )
            memory |= {_address(t)} - {0}
        return result

    def _no_fake(self) -> Exception:
        return RuntimeError(
            f"There was no fake impl registered for <CustomOpDef({self.name()})>. Tensors on meta need one. "
            f"Please use `{self._opname}.register_fake` to add an fake impl."
        )


def _address(t: Any) -> int:
    return 0 if t.device.type == "meta" or _C._batched_level(t) >= 0 or _C._is_dispatched(t) else t.untyped_storage().data_ptr()


class CustomOpDef:
    """The result of `custom_op`: a callable operator, with methods that register its parts."""

    __name__: str

    def __init__(self, namespace: str, name: str, schema: str, fn: Callable[..., Any], tags: Any = None) -> None:
        self._namespace, self._name, self._schema, self._init_fn = namespace, name, schema, fn
        self.__doc__, self.__name__ = fn.__doc__, name
        old = _all.pop(self._qualname, None)
        if old is not None and old.overload is not None:
            undefine(old.overload)
        given = () if tags is None else tuple(tags) if isinstance(tags, (list, tuple)) else (tags,)
        self._opoverload: LibraryOverload = define(namespace, name + schema, given, _CustomOverload)
        self._disabled: set[str] = set()

    @property
    def _qualname(self) -> str:
        return f"{self._namespace}::{self._name}"

    @property
    def _parts(self) -> Parts:
        return self._opoverload.parts

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def register_kernel(self, device_types: Any, fn: Callable[..., Any] | None = None, /) -> Any:
        """Register the function for tensors on these device types; None means all."""
        if fn is None:
            return lambda f: self.register_kernel(device_types, f)
        for device in [device_types] if device_types is None or isinstance(device_types, str) else device_types:
            key = "CompositeExplicitAutograd" if device is None else backend_key(device)
            register_kernel(self._parts, key, self._switched(device, fn))
        return fn

    def _switched(self, device: str | None, fn: Callable[..., Any]) -> Callable[..., Any]:
        if device is None:
            return fn

        def kernel(*args: Any, **kwargs: Any) -> Any:
            return (self._init_fn if device in self._disabled else fn)(*args, **kwargs)

        return kernel

    @contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """Context manager: turn the kernel of a device type off, or on again; without it the operator's own function runs."""
        before = set(self._disabled)
        (self._disabled.discard if enabled else self._disabled.add)(device_type)
        try:
            yield
        finally:
            self._disabled = before

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Register the function for tensors without values, on the device "meta"."""
        self._parts.fake = fn
        return fn

    def register_autograd(self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None) -> None:
        """Register the derivative: `backward(ctx, *grads)`, which uses what `setup_context(ctx, inputs, output)` saved."""
        check_functional(self, self._opoverload)
        self._parts.set_derivative(backward, setup_context)

    def register_vmap(self, func: Callable[..., Any] | None = None) -> Any:
        """Register the rule for `vmap`: `func(info, in_dims, *args)` returns the result and its batch dimension."""
        if func is None:
            return self.register_vmap
        self._parts.vmap = func
        return func

    def register_autocast(self, device_type: str, cast_inputs: Any) -> Any:
        """Let autocast convert the floating point arguments to this dtype."""
        self._parts.autocast[device_type] = cast_inputs
        return cast_inputs

    def register_torch_dispatch(self, torch_dispatch_class: type, fn: Callable[..., Any] | None = None, /) -> Any:
        """Register what a class with a `__torch_dispatch__`, of a mode or of tensors, does for this operator."""
        if fn is None:
            return lambda f: self.register_torch_dispatch(torch_dispatch_class, f)
        self._parts.dispatch_rules[torch_dispatch_class] = fn
        return fn


def check_functional(shown: Any, op: LibraryOverload) -> None:
    """Raise RuntimeError for an operator that writes to an argument: it cannot have a registered derivative."""
    if op._schema.is_mutable:
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {shown} with schema {op._schema}. "
            "Please create a functional operator and register an autograd formula for that."
        )
