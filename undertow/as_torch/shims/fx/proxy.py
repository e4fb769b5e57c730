"""`torch.fx.proxy`: stands for a value while a program is traced, and records what is done with it."""

from __future__ import annotations

import dis
import inspect
import operator

import undertow
from undertow.as_torch.shims.fx.graph import Graph, inplace_methods, magic_methods, reflectable_magic_methods
from undertow.as_torch.shims.fx.node import Node, map_aggregate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "Scope", "TraceError", "TracerBase"]


class TraceError(ValueError):
    """The program depends on a value that is not known while it is traced."""


class Scope:
    """Which module is being traced."""

    module_path: str
    module_type: Any

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path, self.module_type = module_path, module_type


class TracerBase:
    """Creates nodes for values; `torch.fx.Tracer` and others inherit from it."""

    graph: Graph
    record_stack_traces = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"
    scope: Scope = Scope("", None)

    def create_node(self, kind: str, target: Any, args: Any, kwargs: Any, name: str | None = None, type_expr: Any = None) -> Node:
        """Add a node to the graph."""
        return self.graph.create_node(kind, target, args, kwargs, name, type_expr)

    def proxy(self, node: Node) -> Proxy:
        """Return what stands for the result of a node."""
        return Proxy(node, self)

    def create_proxy(
        self, kind: str, target: Any, args: Any, kwargs: Any, name: str | None = None, type_expr: Any = None, proxy_factory_fn: Any = None
    ) -> Any:
        """Add a node and return what stands for its result."""
        node = self.create_node(kind, target, self.create_arg(args), self.create_arg(kwargs), name, type_expr)
        return (proxy_factory_fn or self.proxy)(node)

    def create_arg(self, a: Any) -> Any:
        """Return a value as an argument of a node."""
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return type(a)(*(self.create_arg(each) for each in a))
        if isinstance(a, (tuple, list)):
            return type(a)(self.create_arg(each) for each in a) if type(a) in (tuple, list) else [self.create_arg(each) for each in a]
        if isinstance(a, dict):
            if any(isinstance(key, Proxy) for key in a):
                raise RuntimeError("Keys for dictionaries used as an argument cannot contain a Node")
            return {key: self.create_arg(value) for key, value in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if (
            a is None
            or a is ...
            or isinstance(
                a, (bool, int, float, complex, str, bytes, type, Node, undertow.dtype, undertow.device, undertow.layout, undertow.memory_format)
            )
        ):
            return a
        if inspect.isfunction(a) or inspect.isbuiltin(a):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def to_bool(self, obj: Proxy) -> bool:
        """Raise: the value is not known."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """Raise: the length is not known."""
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or **kwargs function argument. "
            "See the torch.fx docs on pytorch.org for a more detailed explanation of what types of control flow can be traced, and check out the "
            "Proxy docstring for help troubleshooting Proxy iteration errors"
        )

    def keys(self, obj: Proxy) -> Any:
        """Return the keys of a mapping, for `**x`."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """Adds nodes to a graph that a program writes by hand."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.scope: Scope = Scope("", None)


class Proxy:
    """Stands for the result of a node. Operators, methods and functions of torch become nodes."""

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer: TracerBase = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Any:
        return Attribute(self, k)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state

    def __deepcopy__(self, memo: Any) -> Proxy:
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        frame = inspect.currentframe()
        caller = frame.f_back if frame is not None else None
        if caller is not None:  # a, b = x: the code says how many
            for step in dis.get_instructions(caller.f_code):
                if step.offset == caller.f_lasti and step.opname == "UNPACK_SEQUENCE":
                    return (self[i] for i in range(step.arg or 0))  # type: ignore[index]  # added below
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, "
            "please call torch.fx.wrap('len') at module scope"
        )

    def __abs__(self) -> Any:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def keys(self) -> Any:
        """Return the keys, for `**x`."""
        return self.tracer.keys(self)

    @classmethod
    def __torch_function__(cls, orig_method: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        found: list[TracerBase] = []
        map_aggregate((args, kwargs), lambda a: found.append(a.tracer) if isinstance(a, Proxy) else None)
        if len({id(t) for t in found}) > 1:
            raise RuntimeError(f"Found multiple different tracers {found} while trying to trace operations {orig_method}")
        tracer, name = found[0], orig_method.__name__
        from undertow.overrides import is_tensor_method_or_property

        if is_tensor_method_or_property(orig_method):
            return tracer.create_proxy("call_method", name, args, kwargs)
        return tracer.create_proxy("call_function", orig_method, args, kwargs, name=tracer.graph._target_to_str(name))


class Attribute(Proxy):
    """An attribute of a value; a node only if it is not called."""

    root: Proxy
    attr: str
    tracer: TracerBase

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node that reads the attribute."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """Stands for a parameter whose shape is known."""

    param: Any
    name: str

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Any) -> None:
        super().__init__(node, tracer)
        self.param, self.name = param, name

    @property
    def shape(self) -> Any:
        """The shape."""
        return self.param.shape

    def size(self) -> Any:
        """Return the shape."""
        return self.param.size()

    def dim(self) -> int:
        """Return the number of dimensions."""
        return self.param.dim()

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.param.ndim

    def numel(self) -> int:
        """Return the number of elements."""
        return self.param.numel()

    def nelement(self) -> int:
        """Return the number of elements."""
        return self.param.numel()


def _add_operators() -> None:
    def called(target: Any, reflected: bool) -> Any:
        def method(self: Proxy, *rest: Any) -> Any:
            args = (rest[0], self) if reflected else (self, *rest)
            return self.tracer.create_proxy("call_function", target, args, {})

        return method

    for name in (*magic_methods, *inplace_methods):
        setattr(Proxy, f"__{name.strip('_')}__", called(getattr(operator, name), False))
    for name in reflectable_magic_methods:
        target = getattr(operator, name, None) or getattr(operator, f"{name}_")
        setattr(Proxy, f"__r{name}__", called(target, True))
    Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]  # __eq__ makes a node


_add_operators()
