"""Arguments of library operators: they are checked against the schema, and converted as torch does before a kernel sees them."""

from __future__ import annotations

from operator import index

import undertow
from undertow._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from undertow._aten._schema import FunctionSchema


class _Mismatch(Exception):
    """A value does not have its declared type."""


def _number(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.item()
    if isinstance(value, (bool, int, float, complex)):
        return value
    try:
        return value.item()  # a NumPy scalar
    except AttributeError:
        raise _Mismatch from None


def _float(value: Any) -> float:
    if isinstance(value, (str, bytes, complex, Tensor)):
        raise _Mismatch
    try:
        return float(value)
    except TypeError:
        raise _Mismatch from None


def _int(value: Any) -> int:
    try:
        return index(value)
    except TypeError:
        raise _Mismatch from None


def _device(value: Any) -> Any:
    if isinstance(value, (str, int)):
        return undertow.device(value)  # a number is a device of the accelerator, as everywhere
    return _instance(undertow.device, value)


def _instance(kind: Any, value: Any) -> Any:
    if not isinstance(value, kind):
        raise _Mismatch
    return value


def _converted(kind: str, value: Any) -> Any:
    if kind.endswith("?"):
        return None if value is None else _converted(kind[:-1], value)
    if kind.endswith("]"):
        item, _, size = kind[:-1].rpartition("[")
        if size and isinstance(value, (int, float)):
            value = [value] * int(size)
        if not isinstance(value, (list, tuple)):
            raise _Mismatch
        return [_converted(item, v) for v in value]
    if kind == "Tensor":
        return _instance(Tensor, value)
    if kind in ("int", "SymInt"):
        return _int(value)
    if kind == "float":
        return _float(value)
    if kind == "Scalar":
        return _number(value)
    if kind == "bool":
        return bool(value) if type(value).__name__ in ("bool", "bool_") else _instance(bool, value)
    if kind == "str":
        return _instance(str, value)
    if kind == "Device":
        return _device(value)
    if kind == "ScalarType":
        return _instance(undertow.dtype, value)
    return value


def _printed(kind: str) -> str:
    """Return the name of a type as it is in torch's messages: `int[]?` is `Optional[List[int]]`."""
    if kind.endswith("?"):
        return f"Optional[{_printed(kind[:-1])}]"
    if kind.endswith("]"):
        return f"List[{_printed(kind.rpartition('[')[0])}]"
    return {"Scalar": "number", "SymInt": "int"}.get(kind, kind)


def bind(schema: FunctionSchema, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the value of each argument: checked, converted, with defaults."""
    positional = sum(not a.kwarg_only for a in schema.arguments)
    if len(args) > positional:
        raise RuntimeError(
            f"{schema.name}() expected at most {positional} argument(s) but received {len(args) + len(kwargs)} argument(s). Declaration: {schema}"
        )
    values = schema.bind(args, kwargs)
    for position, argument in enumerate(schema.arguments):
        value = values[argument.name]
        if value is argument.default_value and argument.has_default_value():
            continue
        try:
            values[argument.name] = _converted(str(argument.type), value)
        except _Mismatch:
            raise RuntimeError(
                f"{schema.name}() Expected a value of type '{_printed(str(argument.type))}' for argument '{argument.name}' but instead found type "
                f"'{type(value).__name__}'.\nPosition: {position}\nValue: {value!r}\nDeclaration: {schema}"
            ) from None
    return {a.name: values[a.name] for a in schema.arguments}
