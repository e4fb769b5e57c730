"""`torch.fx.graph_module`: a module whose forward is the code of a graph."""

from __future__ import annotations

import copy
import linecache

from undertow import Tensor, nn
from undertow.as_torch.shims.fx.graph import Graph, PythonCode
from undertow.as_torch.shims.fx.node import Node, map_aggregate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["GraphModule"]

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
_count = 0


class _CodeOnlyModule(nn.Module):
    """A module with the attributes of another one, without calling its constructor."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body


class _Named:
    """Stands for a node in a pickle."""

    def __init__(self, name: str) -> None:
        self.name = name


def _forward_from(code: PythonCode) -> Any:
    """Compile generated code. Its lines are shown in tracebacks."""
    global _count
    _count += 1
    name = f"<eval_with_key>.{_count}"
    linecache.cache[name] = (len(code.src), None, [line + "\n" for line in code.src.split("\n")], name)
    names = dict(code.globals)
    exec(compile(code.src, name, "exec"), names)
    return names["forward"]


def _copy_attr(from_module: nn.Module, to_module: nn.Module, target: str) -> None:
    """Give a module the attribute of another one; modules on the way are created."""
    *path, field = target.split(".")
    for item in path:
        source, there = getattr(from_module, item), getattr(to_module, item, None)
        if source is there:
            return
        if there is None:
            there = nn.Module()
            setattr(to_module, item, there)
        from_module, to_module = source, there
    value = getattr(from_module, field)
    if isinstance(value, Tensor) and not isinstance(value, nn.Parameter):
        to_module.register_buffer(field, value)
    else:
        setattr(to_module, field, value)


def _assign_attr(value: Any, to_module: nn.Module, target: str) -> None:
    """Set an attribute; modules on the way are created."""
    *path, field = target.split(".")
    for item in path:
        if getattr(to_module, item, None) is None:
            setattr(to_module, item, nn.Module())
        to_module = getattr(to_module, item)
    if isinstance(value, Tensor) and not isinstance(value, nn.Parameter):
        to_module.register_buffer(field, value)
    else:
        setattr(to_module, field, value)


class GraphModule(nn.Module):
    """A module that runs a graph. Its class is its own, because `forward` is a method of the class."""

    training: bool

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        for base in cls.__mro__:
            if base.__qualname__.rpartition(".")[2] not in ("GraphModule", "GraphModuleImpl"):
                break
            cls = base if base.__qualname__.endswith("GraphModule") else cls
        made = type("GraphModuleImpl", (cls,), {"__module__": cls.__module__})
        return super().__new__(made)

    def __init__(self, root: nn.Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        self.meta: dict[str, Any] = {}
        targets = dict.fromkeys(n.target for n in graph.nodes if n.op in ("get_attr", "call_module"))
        if isinstance(root, nn.Module):
            if hasattr(root, "training"):
                self.training = root.training
            for target in targets:
                _copy_attr(root, self, target)
        else:
            missing = [target for target in targets if target not in root]
            if missing:
                raise RuntimeError(f"Node {missing[0]} referenced target {missing[0]} but that target was not provided in ``root``!")
            for target in sorted(targets, key=lambda t: t.count(".")):
                _assign_attr(root[target], self, target)
        self.graph = graph
        self._tracer_cls = graph._tracer_cls if graph._tracer_cls and "<locals>" not in graph._tracer_cls.__qualname__ else None

    @property
    def graph(self) -> Graph:
        """The graph. After changes of its nodes, `recompile` writes the code again."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The code of `forward`."""
        return self._code

    def recompile(self) -> PythonCode:
        """Write the code of the graph again."""
        written = self._graph.python_code("self")
        self._code = written.src
        type(self).forward = _forward_from(written)
        return written

    def add_submodule(self, target: str, m: nn.Module) -> bool:
        """Add a submodule by its path; return False if an attribute on the way is no module."""
        *path, field = target.split(".")
        at: nn.Module = self
        for item in path:
            there = getattr(at, item, None)
            if there is None:
                there = nn.Module()
                setattr(at, item, there)
            if not isinstance(there, nn.Module):
                return False
            at = there
        at.add_module(field, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Remove a submodule by its path; return False if there is none."""
        path, _, field = target.rpartition(".")
        try:
            owner = self.get_submodule(path)
        except AttributeError:
            return False
        if not isinstance(getattr(owner, field, None), nn.Module):
            return False
        delattr(owner, field)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Remove the submodules that no node uses."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used.update(".".join(parts[: i + 1]) for i in range(len(parts)))
                if node.op == "call_module" and (m := self.get_submodule(node.target)) is not None:
                    used.update(f"{node.target}.{name}" for name, _ in m.named_modules() if name)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    def print_readable(self, print_output: bool = True, **options: Any) -> str:
        """Print the class as code."""
        lines = [f"class {type(self).__name__}(torch.nn.Module):", *self._code.strip().split("\n")]
        text = "\n".join([lines[0], *(f"    {line}" if line else "" for line in lines[1:])])
        if print_output:
            print(text)
        return text

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        body = {k: v for k, v in self.__dict__.items() if k not in ("_graph", "_code")}
        holder = _CodeOnlyModule(copy.deepcopy(body, memo))
        new = type(self).__mro__[1](holder, copy.deepcopy(self._graph), type(self).__name__)
        memo[id(self)] = new
        for name, value in holder.__dict__.items():
            if name not in ("_modules", "_parameters", "_buffers"):
                new.__dict__[name] = value
        return new

    def __copy__(self) -> GraphModule:
        return GraphModule(self, self.graph, type(self).__name__)

    def __reduce__(self) -> Any:
        body = {k: v for k, v in self.__dict__.items() if k not in ("_graph", "_code", "_tracer_cls")}
        steps = [
            (n.op, n.target, *map_aggregate((n.args, n.kwargs), lambda a: _Named(a.name) if isinstance(a, Node) else a), n.name, n.type)
            for n in self._graph.nodes
        ]
        return _rebuild, (type(self).__name__, body, steps)

    def __str__(self) -> str:
        return f"{super().__str__()}\n{self._code}\n# To see more debug info, please use `graph_module.print_readable()`"


def _rebuild(name: str, body: dict[str, Any], steps: list[Any]) -> GraphModule:
    """Build a GraphModule from its attributes and steps; called when a pickled one is loaded."""
    graph = Graph()
    found: dict[str, Node] = {}
    for op, target, args, kwargs, node_name, kind in steps:
        args, kwargs = map_aggregate((args, kwargs), lambda a: found[a.name] if isinstance(a, _Named) else a)
        found[node_name] = graph.create_node(op, target, args, kwargs, node_name, kind)
    holder = _CodeOnlyModule(body)
    made = GraphModule(holder, graph, name)
    made.__dict__.update({k: v for k, v in body.items() if k not in ("_modules", "_parameters", "_buffers")})
    return made
