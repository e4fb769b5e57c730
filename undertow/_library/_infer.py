"""The schema of an operator from the annotations of a Python function."""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing

import undertow
from undertow._C import Tensor
from undertow._library._tags import mutating_tag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

_NAMES: dict[Any, str] = {Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str"}
_NAMES |= {undertow.dtype: "ScalarType", undertow.device: "Device"}
_LISTS = (list, collections.abc.Sequence)
_IN_RESULTS = ("Tensor", "SymInt", "float", "bool", "Scalar")


def _type_name(annotation: Any) -> str | None:
    """Return the schema's name of an annotated type, or None."""
    if annotation in (int | float | bool, int | float):
        return "Scalar"
    if annotation in _NAMES:
        return _NAMES[annotation]
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        rest = [a for a in inner if a is not type(None)]
        if len(rest) == len(inner):
            return None
        name = _type_name(typing.Union[tuple(rest)])  # noqa: UP007  # the types are not known before
        return None if name is None or name.endswith("?") or name.startswith("Tensor[") else f"{name}?"
    if origin in _LISTS and len(inner) == 1:
        name = _type_name(inner[0])
        return None if name is None or name.endswith("]") or (name.endswith("?") and name != "Tensor?") else f"{name}[]"
    return None


def _default(value: Any) -> str | None:
    """Return a default value as it is written in a schema, or None."""
    if value is None or isinstance(value, (bool, int, float)):
        return str(value)
    if isinstance(value, (str, undertow.device)):
        return f'"{value}"'
    return str(value).rpartition(".")[2] if isinstance(value, undertow.dtype) else None


def _evaluated(annotation: Any, function: Callable[..., Any]) -> Any:
    """Return an annotation that is text as the type it names."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, dict(inspect.getclosurevars(function).nonlocals) | function.__globals__)  # the text of the program itself
    except (NameError, AttributeError):
        named = {"Tensor": Tensor, "dtype": undertow.dtype, "device": undertow.device, "None": None}
        return named.get(annotation.rpartition(".")[2], annotation)


def infer_schema(prototype_function: Callable[..., Any], /, *, mutates_args: Any, op_name: str | None = None, tags: Any = ()) -> str:
    """Return the function's schema from its annotations.

    `mutates_args` names the arguments that the function writes to, or is "unknown": then every tensor counts as one. With the tag `inplace` or
    `out` the function returns the arguments that it writes to.

    >>> from undertow import Tensor
    >>> from undertow.library import infer_schema
    >>> def f(x: Tensor, n: int = 2, *, sizes: list[int]) -> Tensor: ...
    >>> infer_schema(f, mutates_args=())
    '(Tensor x, SymInt n=2, *, SymInt[] sizes) -> Tensor'
    """
    signature = inspect.signature(prototype_function)

    def fail(what: str) -> NoReturn:
        raise ValueError(f"infer_schema(func): {what} Got func with signature {signature})")

    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError("mutates_args must either be a sequence of the names of the arguments that are mutated or the string 'unknown'. ")
    kind_of_op = mutating_tag(tags)
    parts: list[str] = []
    written: dict[str, str] = {}  # name -> alias set
    seen_only = False
    for position, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            fail("We do not support positional-only args, varargs, or varkwargs.")
        if parameter.kind is parameter.KEYWORD_ONLY and not seen_only:
            seen_only = True
            parts.append("*")
        if parameter.annotation is parameter.empty:
            fail(f"Parameter {name} must have a type annotation.")
        annotation = _evaluated(parameter.annotation, prototype_function)
        kind = _type_name(annotation)
        if isinstance(annotation, str):
            fail(f"Unsupported type annotation {annotation}. It is not a type: the name is not known where the function is defined.")
        if kind is None:
            advice = " Use list[...] instead of tuple." if typing.get_origin(annotation) is tuple else ""
            fail(f"Parameter {name} has unsupported type {annotation}.{advice} Valid are Tensor, numbers, str, dtype, device, and lists of them.")
        is_written = kind.startswith("Tensor") if mutates_args == "unknown" else name in mutates_args
        if is_written:
            if not kind.startswith("Tensor"):
                fail(f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated")
            if kind_of_op == "out" and (parameter.kind is not parameter.KEYWORD_ONLY or kind != "Tensor"):
                fail("torch.Tag.out requires mutable arguments to be keyword-only." if kind == "Tensor" else _OUT_TENSORS)
            written[name] = f"a{position}!"
            kind = f"Tensor({written[name]}){kind.removeprefix('Tensor')}"
        default = ""
        if parameter.default is not parameter.empty:
            text = _default(parameter.default)
            if text is None:
                fail(f"Parameter {name} has an unsupported default value type {type(parameter.default)}.")
            default = f"={text}"
        parts.append(f"{kind} {name}{default}")
    if mutates_args != "unknown" and (unknown := set(mutates_args) - set(signature.parameters)):
        fail(
            f"{unknown} in mutates_args were not found in the custom op's signature. mutates_args should contain the names of all args that "
            "the custom op mutates, or just the string 'unknown' if you don't know."
        )
    if signature.return_annotation is inspect.Signature.empty:
        fail("No return type annotation was provided. Please add one.")
    results = _results(_evaluated(signature.return_annotation, prototype_function), fail)
    if kind_of_op is not None:
        results = _written_results(kind_of_op, results, signature, mutates_args, written, fail)
    return f"{op_name or ''}({', '.join(parts)}) -> {results}"


_OUT_TENSORS = "torch.Tag.out only supports mutable keyword-only Tensor arguments."


def _written_results(kind: str, results: str, signature: inspect.Signature, mutates_args: Any, written: dict[str, str], fail: Any) -> str:
    """Return the results of an operator that returns the arguments it writes to, with their alias sets."""
    tensors = [f"Tensor({alias})" for alias in written.values()]
    if kind == "out":
        if not tensors:
            fail("torch.Tag.out requires at least one mutable keyword-only Tensor argument.")
        if results != _listed(["Tensor"] * len(tensors)):
            fail(f"torch.Tag.out requires the return annotation to have one torch.Tensor for each of {list(written)}.")
        return _listed(tensors)
    first = next((n for n, p in signature.parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD), None)
    if mutates_args == "unknown" or list(written) != [first]:
        fail(f"torch.Tag.inplace requires mutates_args to contain exactly the first positional argument, got {mutates_args}.")
    if results != "Tensor":
        fail("torch.Tag.inplace requires the return annotation to be torch.Tensor.")
    return tensors[0]


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"({', '.join(names)})"


def _results(annotation: Any, fail: Callable[[str], NoReturn]) -> str:
    if annotation is None:
        return "()"
    items = typing.get_args(annotation) if typing.get_origin(annotation) is tuple else (annotation,)
    names = [_type_name(item) for item in items]
    for item, name in zip(items, names, strict=True):
        if name is None or (name not in _IN_RESULTS and name != "Tensor[]"):
            fail(f"Return has unsupported type {item}. The valid types are Tensor, list[Tensor], numbers, and tuples of them.")
    text = ", ".join(name for name in names if name is not None)
    return f"({text})" if typing.get_origin(annotation) is tuple else text
