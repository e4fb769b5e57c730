"""Arguments of library operators: they are checked against the schema, and converted as torch does before a kernel sees them."""

from __future__ import annotations

import re
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


_KNOWN = {
    "Tensor", "int", "SymInt", "float", "SymFloat", "bool", "SymBool", "str", "complex", "Scalar", "number", "ScalarType", "Device", "Layout",
    "MemoryFormat", "Generator", "Storage", "Stream", "Dimname", "QScheme", "Any", "NoneType", "DeviceIndex",
}  # fmt: skip


def check_types(schema: FunctionSchema) -> None:
    """Raise RuntimeError for a type that no schema has. A class of C++ has a dot in its name, a type variable one small letter."""
    for argument in (*schema.arguments, *schema.returns):
        base = re.split(r"[\[?(]", str(argument.type))[0]
        if base in ("int64_t", "double"):
            raise RuntimeError(f"`{base}` is not a valid type for a function schema. Use {_INSTEAD[base]}. Got: {schema}")
        if base not in _KNOWN and "." not in base and not (len(base) == 1 and base.islower()):
            raise RuntimeError(
                f"{schema}: unknown type specifier {base!r}. Common valid schema types include Tensor, SymInt, int, float, bool, Scalar"
            )


_INSTEAD = {"int64_t": "`SymInt` or `int`", "double": "`float`"}


def checked_result(schema: FunctionSchema, result: Any) -> Any:
    """Return what a kernel returned, as the schema says: a tensor where it says Tensor, a tuple of several results."""
    if len(schema.returns) == 1:
        if str(schema.returns[0].type) == "Tensor" and not isinstance(result, Tensor):
            raise RuntimeError(f"{schema.name}: Unable to cast {result!r} to Tensor")
        return result
    return tuple(result) if isinstance(result, list) and schema.returns else result


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
            kind = _printed(str(argument.type))
            raise RuntimeError(
                f"{schema.name}() Expected a value of type '{kind}' for argument '{argument.name}' but instead found type '{type(value).__name__}'.\n"
                f"Position: {position}\nValue: {value!r}\nDeclaration: {schema}\nCast error details: Unable to cast {value!r} to {kind}"
            ) from None
    return {a.name: values[a.name] for a in schema.arguments}
