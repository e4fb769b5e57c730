"""Operators that a C++ library defines (`UNDERTOW_LIBRARY`), as objects of `ops`: they take Python's registrations too.

The kernels and their choice are in core/api/undertow/library.cpp. Here a call gets its default values, and parts that were registered in Python
(`library.register_autograd`, `register_fake`, `register_kernel`, `register_vmap`) come before those of the library.
"""

from __future__ import annotations

import inspect

from undertow import _C
from undertow._aten._schema import FunctionSchema
from undertow.library import CustomOpDef, _ops, _tensors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


def _signature(schema: FunctionSchema) -> inspect.Signature:
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = [
        inspect.Parameter(a.name, kinds[a.kwarg_only], default=a.default_value if a.has_default_value() else inspect.Parameter.empty)
        for a in schema.arguments
    ]
    return inspect.Signature(parameters)


class CompiledOpDef(CustomOpDef):
    """One overload of an operator that a C++ library defines, such as `ops.mylib.name` or `ops.mylib.name.out`."""

    def __init__(self, qualname: str) -> None:
        self._compiled = qualname
        namespace, _, rest = qualname.partition("::")
        name, _, self._overloadname = rest.partition(".")
        self._overloadname = self._overloadname or "default"
        self._schema = FunctionSchema(namespace, _C._library_schema(qualname).partition("::")[2])
        self._opname, self.namespace = name, namespace

        def kernel(*args: Any, **kwargs: Any) -> Any:
            return self._run(list(self._schema.bind(args, kwargs).values()))

        kernel.__signature__ = _signature(self._schema)  # type: ignore[attr-defined]  # what inspect.signature reads
        kernel.__doc__ = str(self._schema)
        written = [a.name for a in self._schema.arguments if a.alias_info is not None and a.alias_info.is_write]
        super().__init__(namespace, rest, kernel, written)
        self._kernels.clear()

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.namespace}.{self._opname}', overload='{self._overloadname}')>"

    def __str__(self) -> str:
        return f"{self.namespace}.{self._opname}.{self._overloadname}"

    @property
    def default(self) -> CompiledOpDef:
        """The operator itself: its only overload."""
        return self

    def overloads(self) -> list[str]:
        """Return the names of the overloads."""
        return [self._overloadname]

    def name(self) -> str:
        """Return the operator's full name."""
        return self._compiled

    def _run(self, values: Sequence[Any]) -> Any:
        tensors = _tensors(values)
        device = tensors[0].device.type if tensors else "cpu"
        if (device == "meta" and self._fake is not None) or device in self._kernels or None in self._kernels:
            return super()._run(values)
        for argument, value in zip(self._schema.arguments, values, strict=True):
            if str(argument.type) == "Tensor" and not isinstance(value, _C.Tensor):
                raise RuntimeError(
                    f"{self._compiled}() Expected a value of type 'Tensor' for argument '{argument.name}' but instead found type "
                    f"'{type(value).__name__}'. Declaration: {self._schema}"
                )
        return _C._library_call(self._compiled, tuple(values), self._backward is not None)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if self._backward is not None or self._vmap is not None:
            return super().__call__(*args, **kwargs)
        bound = self._schema.bind(args, kwargs)
        return self._run([bound[a.name] for a in self._schema.arguments])


class CompiledPacket:
    """An operator with several overloads, which are its attributes. A call uses the first one whose arguments fit."""

    def __init__(self, qualname: str, overloads: list[str]) -> None:
        self._qualified_op_name, self._overloads = qualname, overloads
        self.__name__ = qualname.partition("::")[2]

    def overloads(self) -> list[str]:
        """Return the names of the overloads."""
        return list(self._overloads)

    def __getattr__(self, name: str) -> CompiledOpDef:
        if name not in self.__dict__.get("_overloads", ()):
            own = self.__dict__.get("_qualified_op_name")
            raise AttributeError(f"The underlying op of '{own}' has no overload name '{name}'", name=name, obj=self)
        full = self._qualified_op_name + ("" if name == "default" else f".{name}")
        found = find(full)
        assert isinstance(found, CompiledOpDef)
        return found

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        reasons = []
        for name in self._overloads:
            op = getattr(self, name)
            try:
                op._schema.bind(args, kwargs)
                return op(*args, **kwargs)
            except (RuntimeError, TypeError) as error:
                if not any(part in str(error) for part in ("Declaration:", "Unknown keyword argument")):
                    raise
                reasons.append(f"{op._schema}: {error}")
        raise RuntimeError(f"{self._qualified_op_name}: no overload fits the arguments:\n" + "\n".join(reasons))


def find(qualname: str) -> Any:
    """Return the operator of this name that a C++ library defined, or None."""
    if (found := _ops.get(qualname)) is not None:
        return found
    names = [n for n in _C._library_names() if n.partition(".")[0] == qualname or n == qualname]
    if not names:
        return None
    if qualname in names and len(names) == 1:
        return CompiledOpDef(qualname)
    if "." in qualname:
        return CompiledOpDef(qualname)
    return CompiledPacket(qualname, [n.partition(".")[2] or "default" for n in names])
