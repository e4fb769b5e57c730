"""The objects of `ops.aten`: operators and their overloads, which programs call, compare, print and use as keys."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from undertow._aten._schema import FunctionSchema

__all__ = ["HigherOrderOperator", "OpOverload", "OpOverloadPacket", "OperatorBase"]


class OperatorBase:
    """The base of the classes below."""


class HigherOrderOperator(OperatorBase):
    """An operator that takes functions. A call runs the function that was registered for the CPU; transforms see what it computes."""

    namespace = "higher_order"

    def __init__(self, name: str, *, cacheable: bool = False) -> None:
        if type(self) is HigherOrderOperator:
            raise RuntimeError("HigherOrderOperator: make a subclass and instantiate that")
        self._name = self.__name__ = name
        self._functions: dict[str, Callable[..., Any]] = {}

    def py_impl(self, key: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Return a decorator that registers a function under a dispatch key; those of transforms and modes are kept, and not called."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self._functions[getattr(key, "name", str(key))] = function
            return function

        return register

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        for key in ("AutogradCPU", "Autograd", "CPU", "CompositeExplicitAutograd", "CompositeImplicitAutograd"):
            if key in self._functions:
                return self._functions[key](*args, **kwargs)
        raise NotImplementedError(f"{self._name}: no function is registered for the CPU")

    def name(self) -> str:
        """Return the operator's name."""
        return self._name

    def __str__(self) -> str:
        return self._name


class OpOverload(OperatorBase):
    """One overload of an operator, such as `ops.aten.add.Tensor`.

    >>> import undertow as ut
    >>> op = ut.ops.aten.add.Tensor
    >>> op(ut.ones(2), ut.ones(2)), str(op), op.name(), op._schema
    (tensor([2., 2.]), 'aten.add.Tensor', 'aten::add.Tensor', aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor)
    """

    def __init__(self, packet: OpOverloadPacket, overload: str, schema: FunctionSchema | None) -> None:
        self.overloadpacket = self._overloadpacket = packet
        self._opname, self._overloadname, self.namespace = packet._opname, overload, packet.namespace
        self._text = schema
        self._name = packet._qualified_op_name + (f".{overload}" if overload != "default" else "")
        self.__name__ = f"{packet._opname}.{overload}"
        self.__qualname__ = self._name
        self.__module__ = packet.__module__
        self.tags: list[Any] = []

    @property
    def _schema(self) -> FunctionSchema:
        if self._text is None:
            from undertow._aten._schema import FunctionSchema

            self._text = FunctionSchema(self.namespace, f"{self.__name__.removesuffix('.default')}(...) -> Tensor")
        return self._text

    def name(self) -> str:
        """Return the operator's full name, such as `aten::add.Tensor`."""
        return self._name

    @property
    def op(self) -> Callable[..., Any]:
        """The function."""
        return self._op

    def _op(self, /, *args: Any, **kwargs: Any) -> Any:
        return self(*args, **kwargs)

    @property
    def is_view(self) -> bool:
        """True if results share memory with an argument that is not written to."""
        return any(a.alias_info is not None and not a.alias_info.is_write for a in self._schema.arguments)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        from undertow._aten import run

        return run(self, args, kwargs)

    def _below_dispatch(self, args: Any, kwargs: dict[str, Any]) -> Any:
        """Compute a call that no `__torch_dispatch__` sees."""
        from undertow._aten import run

        return run(self, args, kwargs)

    @property
    def dispatch_rules(self) -> dict[type, Callable[..., Any]]:
        """What `library.register_torch_dispatch` registered, by class."""
        return {}

    def redispatch(self, /, keyset: Any, *args: Any, **kwargs: Any) -> Any:
        """Call the operator; there are no dispatch keys."""
        return self(*args, **kwargs)

    def decompose(self, *args: Any, **kwargs: Any) -> Any:
        """Return NotImplemented: operators that are compositions reach a `__torch_dispatch__` as their parts."""
        return NotImplemented

    def has_kernel_for_dispatch_key(self, key: Any) -> bool:
        """Return False: kernels are not registered by key."""
        return False

    def __str__(self) -> str:
        return f"{self.namespace}.{self._opname}.{self._overloadname}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.namespace}.{self._opname}', overload='{self._overloadname}')>"

    def __copy__(self) -> OpOverload:
        return self

    def __deepcopy__(self, memo: Any) -> OpOverload:
        return self

    def __reduce__(self) -> Any:
        return getattr, (self.overloadpacket, self._overloadname)


class OpOverloadPacket(OperatorBase):
    """An operator, such as `ops.aten.add`; its overloads are attributes.

    >>> import undertow as ut
    >>> ut.ops.aten.add.overloads()[:2], ut.ops.aten.add(ut.ones(2), 1)
    (['Tensor', 'Scalar'], tensor([2., 2.]))
    """

    def __init__(self, namespace: str, name: str, function: Callable[..., Any] | None, overloads: dict[str, str]) -> None:
        self.namespace: str = namespace
        self._opname, self._function, self._texts = name, function, overloads
        self._qualified_op_name = f"{namespace}::{name}"
        self.__name__ = self.__qualname__ = name
        self.__module__ = f"torch._ops.{namespace}"

    def overloads(self) -> list[str]:
        """Return the names of the overloads."""
        return list(self._texts) or ["default"]

    def __iter__(self) -> Iterator[str]:
        return iter(self.overloads())

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        from undertow._aten import run_packet

        return run_packet(self, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        text = self.__dict__.get("_texts", {}).get(name)
        if text is None and not name.startswith("_") and self.__dict__.get("namespace") == "aten":
            from undertow._aten._out_forms import schema_text

            text = schema_text(self._opname, name)
        if name.startswith("_") or (text is None and self._texts):
            own = self.__dict__.get("_qualified_op_name")
            raise AttributeError(f"The underlying op of '{own}' has no overload name '{name}'", name=name, obj=self)
        from undertow._aten._schema import FunctionSchema

        made = self.__dict__[name] = OpOverload(self, name, None if text is None else FunctionSchema(self.namespace, text))
        return made

    def __dir__(self) -> list[str]:
        return [*self.overloads(), *super().__dir__()]

    @property
    def op(self) -> Callable[..., Any]:
        """The function."""
        return self

    def __str__(self) -> str:
        return f"{self.namespace}.{self._opname}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self.namespace}.{self._opname}')>"

    def __copy__(self) -> OpOverloadPacket:
        return self

    def __deepcopy__(self, memo: Any) -> OpOverloadPacket:
        return self

    def __reduce__(self) -> Any:
        return _packet, (self.namespace, self._opname)


def _packet(namespace: str, name: str) -> Any:
    from undertow import ops

    return getattr(getattr(ops, namespace), name)
