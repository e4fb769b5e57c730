"""Operators made from a Python function: `library.custom_op`."""

from __future__ import annotations

from contextlib import contextmanager

from undertow import _C
from undertow._aten import tensors_in
from undertow._aten._schema import FunctionSchema
from undertow._library._overload import LibraryOverload, define, undefine
from undertow._library._parts import Parts, _all, backend_key, register_kernel
from undertow._library._tags import Tag, as_tuple, mutating_tag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


class _CustomOverload(LibraryOverload):
    """The overload of a CustomOpDef. Its results are new tensors."""

    is_custom = True

    def _call_kernel(self, key: str, values: dict[str, Any]) -> Any:
        result = super()._call_kernel(key, values)
        if mutating_tag(self.tags) is not None:
            self._check_written(values, result)
        elif not self.is_view:
            self._check_new(values, result)
        return result

    def _check_written(self, values: dict[str, Any], result: Any) -> None:
        """Raise RuntimeError if the operator does not return the arguments that it writes to."""
        written = [values[a.name] for a in self._schema.arguments if a.alias_info is not None]
        results = (result,) if len(written) == 1 else result if isinstance(result, tuple) else ()
        if len(results) != len(written) or any(r is not w for r, w in zip(results, written, strict=True)):
            tag = mutating_tag(self.tags)
            what = "its first argument" if tag == "inplace" else "its mutable keyword-only arguments"
            raise RuntimeError(f"{self._opname} ({self.name()}): An operator tagged with torch.Tag.{tag} must return {what}.")

    def _check_new(self, values: dict[str, Any], result: Any) -> None:
        """Raise RuntimeError if a result shares memory with an argument or another result."""
        given = {id(t) for t in tensors_in(values.values())}
        memory = {_address(t) for t in tensors_in(values.values())} - {0}
        for t in tensors_in(result if isinstance(result, (list, tuple)) else (result,)):
            if id(t) in given or _address(t) in memory:
                raise RuntimeError(
                    f"{self._opname} ({self.name()}): The output of this custom operator (1) must not also be an input to this custom operator and "
                    "(2) may not alias any inputs to this custom operator or other returns. Return a clone, such as x.clone()."
                )
            memory |= {_address(t)} - {0}

    def _device_of(self, values: dict[str, Any], tensors: list[Any]) -> str:
        if tensors or not self.selects_device:
            return super()._device_of(values, tensors)
        device = next(values[a.name] for a in self._schema.arguments if str(a.type) == "Device").type
        if self.parts.kernel(backend_key(device)) is None:
            raise RuntimeError(f"{self._opname} does not have a kernel registered for {device}. Please use register_kernel to do so.")
        return device

    def _run_fake(self, values: dict[str, Any]) -> Any:
        if self.parts.fake is None and self._returns_only_written():
            written = [values[a.name] for a in self._schema.arguments if a.alias_info is not None]
            return None if not self._schema.returns else written[0] if len(self._schema.returns) == 1 else tuple(written)
        return super()._run_fake(values)

    def _returns_only_written(self) -> bool:
        """Return True if the results are known without a kernel: there are none, or they are the arguments that the operator writes to."""
        return self._schema.is_mutable and (mutating_tag(self.tags) is not None or not self._schema.returns)

    def _no_fake(self) -> Exception:
        return RuntimeError(
            f"There was no fake impl registered for <CustomOpDef({self.name()})>. "
            "This is necessary for torch.compile/export/fx tracing to work. "
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
        given = tuple(dict.fromkeys((Tag.pt2_compliant_tag, *as_tuple(tags))))
        only = (a for a in FunctionSchema(namespace, name + schema).arguments if a.kwarg_only)
        if mutating_tag(given) != "out" and any(str(a.type).startswith("Tensor") for a in only):
            raise NotImplementedError(f"custom_op with kwarg-only Tensor args. Please make your tensors not kwarg-only. Got: {name}{schema}")
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
        arguments = [str(a.type) for a in self._opoverload._schema.arguments]
        if device_types is not None and not any(kind.startswith("Tensor") for kind in arguments):
            if "Device" not in arguments:
                raise ValueError("Functions without tensor inputs are required to have a `device: torch.device` argument")
            self._opoverload.selects_device = True
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
        self._warn_of_no_change(device_type, enabled)
        (self._disabled.discard if enabled else self._disabled.add)(device_type)
        try:
            yield
        finally:
            self._disabled = before

    def _warn_of_no_change(self, device_type: str, enabled: bool) -> None:
        from logging import getLogger

        log, action = getLogger("torch._library.custom_ops"), "enable" if enabled else "disable"
        if self._parts.kernel(backend_key(device_type) if device_type in ("cpu", "cuda") else device_type) is None:
            log.warning("Attempted to %s kernel for %s but no kernel was registered for this device type.", action, device_type)
        if enabled is not (device_type in self._disabled):
            log.warning("Attempted to %s kernel for %s but it was already %sd.", action, device_type, action)

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
    if mutating_tag(op.tags) == "out":
        raise RuntimeError(
            f"Cannot register autograd formula for operator tagged with torch.Tag.out: {shown}. Out variants do not support autograd."
        )
    if op._schema.is_mutable:
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {shown} with schema {op._schema}. "
            "Please create a functional operator and register an autograd formula for that."
        )
