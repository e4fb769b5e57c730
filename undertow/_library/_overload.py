"""One overload of a library operator, and the order in which a call uses what is registered for it.

`__torch_function__`, then the rule for vmap, then autocast, then the kernel for derivatives, then `__torch_dispatch__`, then the kernel of the
device: torch's dispatcher takes the keys of a call in the same order.
"""

from __future__ import annotations

import re
from contextlib import nullcontext

import undertow
from undertow import _C
from undertow._aten import call, tensors_in
from undertow._aten._schema import FunctionSchema
from undertow._library import _arguments
from undertow._library._parts import ANY_DEVICE, BelowAutograd, Parts, backend_key, parts_of, place
from undertow._library._tags import check_tags
from undertow._ops import OpOverload, OpOverloadPacket
from undertow.amp.autocast_mode import is_autocast_enabled
from undertow.overrides import handle_torch_function, has_torch_function
from undertow.utils._python_dispatch import _stack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

def _given(args: Any, kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Return the tensors of a call, whose classes may override it."""
    return tuple(tensors_in((*args, *kwargs.values())))


class LibraryOverload(OpOverload):
    """One overload of an operator that a program defined, such as `ops.mylib.name.default`."""

    is_custom = False  # of custom_op, which has rules of its own
    selects_device = False  # of custom_op: by the argument of type Device, because there are no tensors

    def __init__(self, packet: OpOverloadPacket, overload: str, schema: FunctionSchema) -> None:
        super().__init__(packet, overload, schema)
        self.parts: Parts = parts_of(self._name)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if has_torch_function(given := _given(args, kwargs)):
            return handle_torch_function(self, given, *args, **kwargs)
        return self._run(_arguments.bind(self._schema, args, kwargs))

    def redispatch(self, /, keyset: Any, *args: Any, **kwargs: Any) -> Any:
        """Call the kernel that comes after the running one."""
        if place.below_autograd:
            return self._below_dispatch(args, kwargs)
        with BelowAutograd():
            return self(*args, **kwargs)

    def has_kernel_for_dispatch_key(self, key: Any) -> bool:
        """Return True if a kernel is registered under this key."""
        return getattr(key, "name", key) in self.parts.kernels

    def py_impl(self, key: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Return a decorator that registers a kernel under a key."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self.parts.kernels[getattr(key, "name", key)] = function
            return function

        return register

    @property
    def dispatch_rules(self) -> dict[type, Callable[..., Any]]:
        """What `library.register_torch_dispatch` registered, by class."""
        return self.parts.dispatch_rules

    # ---- the order of a call ----

    def _device_of(self, values: dict[str, Any], tensors: list[Any]) -> str:
        """Return the type of the device whose kernel computes a call."""
        return tensors[0].device.type if tensors else "cpu"

    def _run(self, values: dict[str, Any]) -> Any:
        tensors = list(tensors_in(values.values()))
        device = self._device_of(values, tensors)
        if any(_C._batched_level(t) >= 0 for t in tensors) and (self.parts.vmap is not None or not self._is_composed(device)):
            from undertow._library._vmap import run_batched

            return run_batched(self, values)
        if device in self.parts.autocast and is_autocast_enabled(device):
            return self._run_cast(values, device)
        key = self.parts.kernel(f"Autocast{backend_key(device)}")
        if key is not None and is_autocast_enabled(device):
            return self._call_kernel(key, values)
        if not place.below_autograd:
            return self._run_recorded(values, tensors)
        return self._run_seen(values)

    def _is_composed(self, device: str) -> bool:
        """Return True if the kernel consists of operators, which have derivatives and rules of their own."""
        key = backend_key(device)
        if self.parts.kernel(key, "CompositeExplicitAutograd", f"Autograd{key}") is not None:
            return False
        return self.parts.kernel("CompositeImplicitAutograd") is not None

    def _run_cast(self, values: dict[str, Any], device: str) -> Any:
        wanted = self.parts.autocast[device]

        def cast(value: Any) -> Any:
            if isinstance(value, list):
                return [cast(v) for v in value]
            if not isinstance(value, _C.Tensor) or value.device.type != device:
                return value
            return value.to(wanted) if value.is_floating_point() and value.dtype is not undertow.float64 else value

        with undertow.autocast(device, enabled=False):
            return self._run({name: cast(value) for name, value in values.items()})

    def _run_recorded(self, values: dict[str, Any], tensors: list[Any]) -> Any:
        from undertow._library import _derivative

        device = self._device_of(values, tensors)
        if self._is_composed(device):
            return self._run_on_device(values)  # a __torch_dispatch__ sees its operators
        key = self.parts.kernel(f"Autograd{backend_key(device)}", "Autograd")
        if key is not None:
            return self._call_kernel(key, values)
        needed = undertow.is_grad_enabled() and any(t.requires_grad for t in tensors)
        if self.parts.backward is not None or self.is_custom:
            if needed and self._schema.returns:
                return _derivative.record(self, values)
            with BelowAutograd() if needed else nullcontext():  # a kernel may write to leaves
                return self._run_marked(values)
        result = self._run_seen(values)
        return _derivative.warn_in_backward(self, tensors, result) if needed else result

    def _run_marked(self, values: dict[str, Any]) -> Any:
        """Run below autograd; what the schema says is written to counts as written, whatever the kernel wrote with."""
        result = self._run_seen(values)
        for name in (a.name for a in self._schema.arguments if a.alias_info is not None and a.alias_info.is_write):
            undertow.autograd.graph.increment_version(list(tensors_in((values[name],))))
        return result

    def _run_seen(self, values: dict[str, Any]) -> Any:
        args, kwargs = self._schema.unbind(values)
        if not _stack.disabled and (_stack.modes or any(_C._is_dispatched(t) for t in tensors_in(values.values()))):
            return call(self, args, kwargs)
        return self._below_dispatch(args, kwargs)

    def _below_dispatch(self, args: Any, kwargs: dict[str, Any]) -> Any:
        return self._run_on_device(_arguments.bind(self._schema, args, kwargs))

    def _run_on_device(self, values: dict[str, Any]) -> Any:
        tensors = list(tensors_in(values.values()))
        device = self._device_of(values, tensors)
        if device == "meta":
            return self._run_fake(values)
        key = self.parts.kernel(f"Sparse{backend_key(device)}") if tensors and tensors[0].is_sparse else None
        key = key or self.parts.kernel(backend_key(device), *ANY_DEVICE)
        if key is None:
            raise self._no_kernel(device)
        return self._call_kernel(key, values)

    def _run_fake(self, values: dict[str, Any]) -> Any:
        from undertow._library._fake import running_fake

        if self.parts.fake is not None:
            args, kwargs = self._schema.unbind(values)
            with running_fake(self):
                return self.parts.fake(*args, **kwargs)
        key = self.parts.kernel("Meta") if self.is_custom else self.parts.kernel("Meta", *ANY_DEVICE)
        if key is None:
            raise self._no_fake()
        return self._call_kernel(key, values)

    def _call_kernel(self, key: str, values: dict[str, Any]) -> Any:
        args, kwargs = self._schema.unbind(values)
        if key in self.parts.takes_keyset:
            args = (frozenset((key,)), *args)
        return _arguments.checked_result(self._schema, self.parts.kernels[key](*args, **kwargs))

    def _no_kernel(self, device: str) -> Exception:
        return NotImplementedError(
            f"Could not run '{self._name}' with arguments from the '{backend_key(device)}' backend. "
            f"'{self._name}' is only available for these backends: [{', '.join(self.parts.kernels)}]."
        )

    def _no_fake(self) -> Exception:
        return NotImplementedError(
            f"{self._name}: attempted to run this operator with Meta tensors, but there was no fake impl or Meta kernel registered. "
            "Register one with library.register_fake."
        )


class LibraryPacket(OpOverloadPacket):
    """An operator that a program defined, such as `ops.mylib.name`; its overloads are attributes."""

    def __init__(self, namespace: str, name: str) -> None:
        super().__init__(namespace, name, None, {})
        self._made: dict[str, LibraryOverload] = {}

    def add(self, overload: str, op: LibraryOverload) -> None:
        """Add an overload."""
        self._texts[overload] = str(op._schema)
        self._made[overload] = op

    def remove(self, overload: str) -> None:
        """Remove an overload."""
        self._texts.pop(overload, None)
        self._made.pop(overload, None)

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__.get("_made", {}).get(name)
        if found is None:
            own = f"{self.__dict__.get('namespace')}.{self.__dict__.get('_opname')}"
            raise AttributeError(f"The underlying op of '{own}' has no overload name '{name}'", name=name, obj=self)
        return found

    @property
    def _schemas(self) -> dict[str, FunctionSchema]:
        return {"" if name == "default" else name: op._schema for name, op in self._made.items()}

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if has_torch_function(given := _given(args, kwargs)):
            return handle_torch_function(self, given, *args, **kwargs)
        overloads = list(self._made.values())
        if len(overloads) == 1:
            return overloads[0]._run(_arguments.bind(overloads[0]._schema, args, kwargs))
        reasons = []
        for op in overloads:
            try:
                values = _arguments.bind(op._schema, args, kwargs)
            except RuntimeError as error:
                reasons.append(str(error))
            else:
                return op._run(values)
        raise RuntimeError("Overloaded torch operator invoked from Python failed to match any schema:\n" + "\n\n".join(reasons))


_packets: dict[str, LibraryPacket] = {}


def define(namespace: str, schema: str, tags: tuple[Any, ...] = (), kind: type[LibraryOverload] = LibraryOverload) -> LibraryOverload:
    """Define an operator from its schema: `name.overload(Tensor x, ...) -> Tensor`."""
    if "(" not in schema:
        raise RuntimeError("Tried to parse a function schema but only the operator name was given")
    schema = re.sub(r"\)\s*->\s*", ") -> ", schema.strip())
    if ") -> " not in schema:
        raise RuntimeError(f"the schema {schema!r} has no results; write `-> Tensor`, or `-> ()` for none")
    parsed = FunctionSchema(namespace, re.sub(r"(=-?\d+\.)0+(?=[,)\]])", r"\1", schema))  # torch prints 2.0 as 2.
    _arguments.check_types(parsed)
    check_tags(parsed, tags)
    qualname = parsed.name + (f".{parsed.overload_name}" if parsed.overload_name else "")
    if parts_of(qualname).overload is not None:
        raise RuntimeError(
            f"Tried to register an operator ({parsed}) with the same name and overload name multiple times. "
            "Each overload's schema should only be registered with a single call to def()."
        )
    packet = _packets.setdefault(parsed.name, LibraryPacket(namespace, parsed.name.partition("::")[2]))
    op = kind(packet, parsed.overload_name or "default", parsed)
    op.tags = list(tags)
    packet.add(op._overloadname, op)
    op.parts.overload = op
    return op


def undefine(op: LibraryOverload) -> None:
    """Remove an operator, so that its name can be defined again."""
    op.parts.overload = None
    packet = op.overloadpacket
    assert isinstance(packet, LibraryPacket)
    packet.remove(op._overloadname)
    if not packet._texts:
        _packets.pop(packet._qualified_op_name, None)
