"""Guards, switches and queries of torch's dispatcher, for programs that register kernels by key."""

from __future__ import annotations

import enum
from contextlib import nullcontext

from undertow._aten._schema import FunctionSchema
from undertow._library import _derivative
from undertow._library._parts import BelowAutograd, parts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "Tag", "_AutoDispatchBelowADInplaceOrView", "_AutoDispatchBelowAutograd", "_ExcludeDispatchKeyGuard", "_dispatch_find_schema_or_throw",
    "_dispatch_has_kernel_for_dispatch_key", "_get_autograd_fallback_mode", "_set_autograd_fallback_mode", "parse_schema",
]  # fmt: skip

Tag = enum.Enum(
    "Tag",
    "core cudagraph_unsafe data_dependent_output dynamic_output_shape flexible_layout generated inplace inplace_view maybe_aliasing_or_mutating"
    " needs_contiguous_strides needs_exact_strides needs_fixed_stride_order nondeterministic_bitwise nondeterministic_seeded out out_variant"
    " pointwise pt2_compliant_tag reduction view_copy",
    start=0,
    module="torch",
)
Tag.__doc__ = "What a program says about an operator when it defines one; stored in the operator's `tags`."

_AutoDispatchBelowAutograd = _AutoDispatchBelowADInplaceOrView = BelowAutograd


def _ExcludeDispatchKeyGuard(keys: Any) -> Any:
    """Return a context manager in which these keys are skipped; those of derivatives are the only ones that are not at the end anyway."""
    return BelowAutograd() if any(key.name.startswith("Autograd") for key in keys) else nullcontext()


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
