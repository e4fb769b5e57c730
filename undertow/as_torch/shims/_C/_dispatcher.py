"""Guards, switches and queries of torch's dispatcher, for programs that register kernels by key."""

from __future__ import annotations

from contextlib import ExitStack

from undertow._aten._schema import FunctionSchema
from undertow._library import _derivative
from undertow._library._parts import BelowAutograd, backend_key, parts_of
from undertow._library._tags import Tag
from undertow.amp.autocast_mode import autocast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "ExcludeDispatchKeyGuard", "Tag", "_AutoDispatchBelowADInplaceOrView", "_AutoDispatchBelowAutograd", "_ExcludeDispatchKeyGuard",
    "_dispatch_find_schema_or_throw",
    "_dispatch_has_kernel_for_dispatch_key", "_get_autograd_fallback_mode", "_set_autograd_fallback_mode", "parse_schema",
]  # fmt: skip


class _Guard:
    """A guard of torch's dispatcher: the context managers begin when it is made, and end with a `with` block or with the object."""

    def __init__(self, *managers: Any) -> None:
        self._left = ExitStack()
        for manager in managers:
            self._left.enter_context(manager)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._left.close()

    def __del__(self) -> None:
        self._left.close()


class _AutoDispatchBelowAutograd(_Guard):
    """Calls of library operators skip the kernels for derivatives, and nothing is recorded."""

    def __init__(self) -> None:
        super().__init__(BelowAutograd())


_AutoDispatchBelowADInplaceOrView = _AutoDispatchBelowAutograd


class _ExcludeDispatchKeyGuard(_Guard):
    """These keys are skipped: those of derivatives and of autocast; no others come before the kernel of the device."""

    def __init__(self, keys: Any) -> None:
        names = [key.name for key in keys]
        managers: list[Any] = [BelowAutograd()] if any(name.startswith("Autograd") for name in names) else []
        managers += [autocast(device, enabled=False) for device in ("cpu", "cuda") if f"Autocast{backend_key(device)}" in names]
        super().__init__(*managers)


ExcludeDispatchKeyGuard = _ExcludeDispatchKeyGuard


def _get_autograd_fallback_mode() -> str:
    """Return what a backward pass does at an operator without a derivative: "nothing", "warn" or "error"."""
    return _derivative.fallback.mode


def _set_autograd_fallback_mode(mode: str) -> None:
    """Set it."""
    if mode not in ("nothing", "warn", "error"):
        raise RuntimeError(f"Unsupported AutogradFallbackMode: {mode}")
    _derivative.fallback.mode = mode


def parse_schema(schema: str, allow_typevars: bool = True) -> FunctionSchema:
    """Return a schema from its text."""
    namespace, found, rest = schema.partition("::")
    return FunctionSchema(namespace, rest) if found and "(" not in namespace else FunctionSchema("", schema)


def _dispatch_has_kernel_for_dispatch_key(name: str, key: Any) -> bool:
    """Return True if a program registered a kernel for an operator under this key."""
    return getattr(key, "name", key) in parts_of(name).kernels


def _dispatch_find_schema_or_throw(name: str, overload: str) -> Any:
    """Return the operator; its schema is an attribute."""
    from undertow.library import named

    found = named(name + (f".{overload}" if overload else ""))
    if found is None:
        raise RuntimeError(f"Could not find schema for {name}.{overload}")
    return found
