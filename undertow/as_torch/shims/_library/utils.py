"""`torch._library.utils`: queries about operators and schemas."""

from __future__ import annotations

from undertow.library import _overload, _split

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["is_functional_schema", "is_tensor_like_type", "is_tensorlist_like_type", "lookup_op", "mutates_and_returns_first_arg", "parse_namespace"]

parse_namespace = _split


def lookup_op(qualname: str) -> Any:
    """Return the overload of this name."""
    return _overload(qualname)


def is_functional_schema(schema: Any) -> bool:
    """Return True if the operator neither writes to arguments nor returns views of them, and returns something."""
    from undertow.as_torch.shims._C._dispatcher import parse_schema

    parsed = parse_schema(schema) if isinstance(schema, str) else schema
    if parsed.is_mutable or not parsed.returns:
        return False
    return all(r.alias_info is None and str(r.type) in ("Tensor", "Tensor[]") for r in parsed.returns)


def is_tensor_like_type(kind: Any) -> bool:
    """Return True for a tensor, or an optional one."""
    return str(kind) in ("Tensor", "Optional[Tensor]", "Tensor?")


def is_tensorlist_like_type(kind: Any) -> bool:
    """Return True for a list of tensors."""
    return str(kind) in ("Tensor[]", "Tensor?[]", "Tensor[]?", "List[Tensor]", "List[Optional[Tensor]]")


def mutates_and_returns_first_arg(op: Any) -> bool:
    """Return True for an operator like `add_`: it writes only to its first argument, and returns it."""
    schema = op._schema
    first, rest = schema.arguments[0], schema.arguments[1:]
    if len(schema.returns) != 1 or schema.returns[0].alias_info is None or first.alias_info is None or not first.alias_info.is_write:
        return False
    return schema.returns[0].alias_info.before_set == first.alias_info.before_set and all(a.alias_info is None for a in rest)
