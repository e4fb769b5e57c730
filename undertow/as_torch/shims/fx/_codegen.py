"""Writes the Python code of a graph, as torch writes it."""

from __future__ import annotations

import builtins
import math
import re
import types

from undertow.as_torch.shims.fx.graph import Graph, PythonCode, _Namespace, inplace_methods, magic_methods
from undertow.as_torch.shims.fx.node import Node, _get_qualified_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _attribute(base: str, path: str) -> str:
    """Return the code that reads an attribute, with getattr where a part is no name."""
    code = base
    for part in path.split("."):
        code = f"{code}.{part}" if part.isidentifier() else f'getattr({code}, "{part}")'
    return code


class _Writer:
    """The names that the code of one graph uses."""

    def __init__(self, graph: Graph) -> None:
        import torch

        self.torch = torch
        self.names: dict[str, Any] = {"inf": math.inf, "nan": math.nan, "NoneType": type(None), "torch": torch, "device": torch.device}
        self.unique = _Namespace()
        self.unique._used.update((*self.names, *(n.name for n in graph.nodes), "self"))

    def named(self, hint: str, obj: Any) -> str:
        """Return the expression for an object: torch's own name, or a name in the globals of the code."""
        if getattr(builtins, hint, None) is obj:
            return hint
        first, _, rest = hint.partition(".")
        if first == "torch" and rest:
            found: Any = self.torch
            for part in rest.split("."):
                found = getattr(found, part, None)
            if found is obj:
                return hint
        name = self.unique.create_name(hint.replace(".", "_"), obj)
        self.names[name] = obj
        return name

    def value(self, a: Any) -> str:
        """Return the expression for an argument."""
        if isinstance(a, Node):
            return a.name
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return f"{self.named(_get_qualified_name(type(a)), type(a))}({', '.join(map(self.value, a))})"
        if isinstance(a, tuple):
            return f"({', '.join(map(self.value, a))}{',' if len(a) == 1 else ''})"
        if isinstance(a, list):
            return f"[{', '.join(map(self.value, a))}]"
        if isinstance(a, dict):
            return "{" + ", ".join(f"{k!r}: {self.value(v)}" for k, v in a.items()) + "}"
        if isinstance(a, slice):
            return f"slice({self.value(a.start)}, {self.value(a.stop)}, {self.value(a.step)})"
        if a is None or a is ... or isinstance(a, (bool, int, float, complex, str, bytes)):
            return "..." if a is ... else repr(a)
        if isinstance(a, (self.torch.dtype, self.torch.layout, self.torch.memory_format)):
            return self.named(str(a), a)
        if isinstance(a, (type, types.FunctionType, types.BuiltinFunctionType)):
            return self.named(_get_qualified_name(a), a)
        return self.named(f"_{type(a).__name__}", a)

    def call(self, args: Any, kwargs: Any) -> str:
        """Return the arguments of a call, with keywords."""
        return ", ".join([*map(self.value, args), *(f"{k} = {self.value(v)}" for k, v in kwargs.items())])

    def annotation(self, kind: Any, sign: str) -> str:
        """Return the annotation of an argument or result."""
        if kind is None:
            return ""
        return sign + (f'"{kind}"' if isinstance(kind, str) else self.named(_get_qualified_name(kind), kind))


def _line(w: _Writer, node: Node, root: str) -> str:
    """Return the statement of one node."""
    name = node.name + w.annotation(node.type, " : ")
    if node.op == "get_attr":
        return f"{name} = {_attribute(root, node.target)}"
    if node.op == "call_module":
        return f"{name} = {_attribute(root, node.target)}({w.call(node.args, node.kwargs)})"
    if node.op == "call_method":
        return f"{name} = {w.value(node.args[0])}.{node.target}({w.call(node.args[1:], node.kwargs)})"
    target, args = node.target, node.args
    if getattr(target, "__module__", None) == "_operator" and not node.kwargs:
        form = magic_methods.get(target.__name__)
        if form is not None and form.count("{}") == len(args):
            return f"{name} = {form.format(*map(w.value, args))}"
        form = inplace_methods.get(target.__name__)
        if form is not None and len(args) == 2:
            return f"{form.format(*map(w.value, args))};  {name} = {w.value(args[0])}"
    qualified = _get_qualified_name(target)
    if qualified == "getattr" and len(args) == 2 and isinstance(args[1], str) and args[1].isidentifier():
        return f"{name} = {w.value(args[0])}.{args[1]}"
    return f"{name} = {w.named(qualified, target)}({w.call(args, node.kwargs)})"


def write(graph: Graph, root: str) -> PythonCode:
    """Return the code of `forward`. A name is set to None after its last use, so that memory is freed."""
    w = _Writer(graph)
    last_use: dict[Node, Node] = {}
    for node in reversed(graph.nodes):
        for read in node.all_input_nodes:
            last_use.setdefault(read, node)
    dead: dict[Node, list[Node]] = {}
    for n, user in last_use.items():
        dead.setdefault(user, []).append(n)
    arguments, body, returns = [root], [], ""
    for node in graph.nodes:
        if node.op == "placeholder":
            default = f" = {w.value(node.args[0])}" if node.args else ""
            arguments.append(f"{node.target}{w.annotation(node.type, ' : ')}{default}")
            plain = node.target.replace("*", "")
            if plain != node.name:
                body.append(f"{node.name} = {plain}\n")
        elif node.op == "output":
            returns = w.annotation(node.type, " -> ")
            body.append(f"return {w.value(node.args[0])}")
        else:
            dropped = [n.name for n in dead.get(node, ())] + [node.name] * (not node.users)
            drop = f";  {' = '.join(dropped)} = None" if dropped else ""
            body.append(f"{_line(w, node, root)}{drop}\n")
    if not any(n.op == "output" for n in graph.nodes):
        body.append("pass\n")
    if graph._codegen._body_transformer is not None:
        body = graph._codegen._body_transformer(body)
    text = "".join(line if line.endswith("\n") else line + "\n" for line in body)
    indented = re.sub(r"(?m)^(?=.)", "    ", text).rstrip("\n")
    return PythonCode(f"\n\n\ndef forward({', '.join(arguments)}){returns}:\n{indented}\n    ", w.names)
