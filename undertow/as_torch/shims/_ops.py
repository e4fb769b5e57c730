"""`torch._ops`: the objects of `torch.ops.aten`, which programs call, compare and print.

An operator has torch's name; each of its overloads calls the same function.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["HigherOrderOperator", "OpOverload", "OpOverloadPacket", "OperatorBase"]


class FunctionSchema:
    """The names of an operator and its overload."""

    def __init__(self, name: str, overload_name: str) -> None:
        self.name = name
        self.overload_name = overload_name


class OperatorBase:
    """The base of the classes below."""


class HigherOrderOperator(OperatorBase):
    """An operator that takes functions, of torch's compiler. It has no instances."""


class OpOverload(OperatorBase):
    """One overload of an operator: `torch.ops.aten.add.Tensor`."""

    def __init__(self, packet: OpOverloadPacket, overload: str) -> None:
        self.overloadpacket = packet
        self._opname, self._overloadname, self.namespace = packet._opname, overload, packet.namespace
        self._schema = FunctionSchema(packet._qualified_op_name, "" if overload == "default" else overload)
        self._name = packet._qualified_op_name + (f".{overload}" if overload != "default" else "")
        self.__name__ = f"{packet._opname}.{overload}"
        self.__qualname__ = self._name
        self.__module__ = packet.__module__
        self._op = packet._op

    def name(self) -> str:
        """Return the operator's full name, such as `aten::add.Tensor`."""
        return self._name

    @property
    def op(self) -> Callable[..., Any]:
        """The function."""
        return self._op

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._op(*args, **kwargs)

    def __str__(self) -> str:
        return f"{self.namespace}.{self._opname}.{self._overloadname}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.namespace}.{self._opname}', overload='{self._overloadname}')>"

    def __copy__(self) -> OpOverload:
        return self

    def __deepcopy__(self, memo: Any) -> OpOverload:
        return self


class OpOverloadPacket(OperatorBase):
    """An operator: `torch.ops.aten.add`. Every overload name is an attribute."""

    def __init__(self, namespace: str, name: str, function: Callable[..., Any]) -> None:
        self.namespace, self._opname, self._op = namespace, name, function
        self._qualified_op_name = f"{namespace}::{name}"
        self.__name__ = self.__qualname__ = name
        self.__module__ = f"torch._ops.{namespace}"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._op(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"'OpOverloadPacket' object has no attribute {name!r}")
        made = self.__dict__[name] = OpOverload(self, name)
        return made

    @property
    def op(self) -> Callable[..., Any]:
        """The function."""
        return self._op

    def __str__(self) -> str:
        return f"{self.namespace}.{self._opname}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self.namespace}.{self._opname}')>"

    def __copy__(self) -> OpOverloadPacket:
        return self

    def __deepcopy__(self, memo: Any) -> OpOverloadPacket:
        return self
