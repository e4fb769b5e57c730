"""What a program says about an operator when it defines one, and the rules for the tags that promise something about the schema."""

from __future__ import annotations

import enum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from undertow._aten._schema import Argument, FunctionSchema

Tag = enum.Enum(
    "Tag",
    "core cudagraph_unsafe data_dependent_output dynamic_output_shape flexible_layout generated inplace inplace_view maybe_aliasing_or_mutating"
    " needs_contiguous_strides needs_exact_strides needs_fixed_stride_order nondeterministic_bitwise nondeterministic_seeded out out_variant"
    " pointwise pt2_compliant_tag reduction view_copy",
    start=0,
    module="torch",
)
Tag.__doc__ = "What a program says about an operator when it defines one; stored in the operator's `tags`."


def as_tuple(tags: Any) -> tuple[Any, ...]:
    """Return tags that were given as one tag, a sequence or None."""
    return () if tags is None else tuple(tags) if isinstance(tags, (list, tuple, set, frozenset)) else (tags,)


def mutating_tag(tags: Any) -> str | None:
    """Return "inplace" or "out" if one of these tags says that the operator returns the arguments it writes to."""
    found = [tag.name for tag in as_tuple(tags) if tag in (Tag.inplace, Tag.out)]
    if len(found) > 1:
        raise AssertionError("torch.Tag.inplace and torch.Tag.out are mutually exclusive")
    return found[0] if found else None


def _is_written(argument: Argument) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


def _same_memory(result: Argument, argument: Argument) -> bool:
    """Return True if the schema says that a result is an argument that the operator writes to."""
    a, b = result.alias_info, argument.alias_info
    return a is not None and b is not None and a.is_write and a.before_set == b.before_set


def check_tags(schema: FunctionSchema, tags: Any) -> None:
    """Raise ValueError for a schema that does not return the arguments it writes to, if a tag says that it does."""
    kind = mutating_tag(tags)
    if kind is None:
        return
    written = [a for a in schema.arguments if _is_written(a)]

    def fail(what: str) -> NoReturn:
        raise ValueError(f"Schema tagged with torch.Tag.{kind} {what}. Got: {schema}")

    if kind == "inplace":
        if not schema.arguments or schema.arguments[0].kwarg_only:
            fail("must have at least one positional argument")
        first = schema.arguments[0]
        if not _is_written(first):
            fail("requires the first positional argument to be mutable (e.g., Tensor(a!))")
        if str(first.type) != "Tensor":
            fail("requires the first positional argument to be a Tensor")
        if len(schema.returns) != 1 or not _same_memory(schema.returns[0], first):
            fail("must return exactly one value, the first mutable argument")
        if written != [first]:
            fail("must only mutate the first positional argument")
        return
    if not written:
        fail("must have at least one mutable argument")
    if positional := [a.name for a in written if not a.kwarg_only]:
        fail(f"requires all mutable arguments to be keyword-only (after the *). Found mutable positional args: {positional}")
    if others := [a.name for a in written if str(a.type) != "Tensor"]:
        fail(f"only supports Tensor mutable arguments. Found unsupported mutable args: {others}")
    if len(schema.returns) != len(written):
        fail(f"must return all mutable arguments (got {len(written)} mutable args but {len(schema.returns)} returns)")
    for result, argument in zip(schema.returns, written, strict=True):
        if not _same_memory(result, argument):
            fail(f"must return its mutable arguments in their order: a return must alias mutable arg '{argument.name}'")
