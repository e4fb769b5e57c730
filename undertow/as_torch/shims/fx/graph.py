"""`torch.fx.graph`: a list of steps, and the Python code that runs it."""

from __future__ import annotations

import builtins
import contextlib
import copy
import keyword
import re

from undertow.as_torch.shims.fx.node import Node, map_arg

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

__all__ = ["CodeGen", "Graph", "PythonCode"]

_BINARY = {
    "add": "+", "and_": "&", "eq": "==", "floordiv": "//", "ge": ">=", "gt": ">", "le": "<=", "lshift": "<<", "lt": "<", "matmul": "@", "mod": "%",
    "mul": "*", "ne": "!=", "or_": "|", "pow": "**", "rshift": ">>", "sub": "-", "truediv": "/", "xor": "^",
}  # fmt: skip
magic_methods: dict[str, str] = {name: f"{{}} {sign} {{}}" for name, sign in _BINARY.items()}
magic_methods |= {"getitem": "{}[{}]", "neg": "-{}", "pos": "+{}", "invert": "~{}"}
reflectable_magic_methods: dict[str, str] = {
    name.rstrip("_"): f"{{}} {_BINARY[name]} {{}}" for name in _BINARY if name not in ("eq", "ge", "gt", "le", "lt", "ne")
}
inplace_methods: dict[str, str] = {
    f"i{name.rstrip('_')}": f"{{}} {sign}= {{}}" for name, sign in _BINARY.items() if name.rstrip("_") in reflectable_magic_methods
}


class PythonCode:
    """Code, and the objects that its names mean."""

    src: str
    globals: dict[str, Any]

    def __init__(self, src: str, names: dict[str, Any]) -> None:
        self.src, self.globals, self._lineno_map = src, names, None


class _Namespace:
    """Unique names that are valid in Python."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._counts: dict[str, int] = {}
        self._of: dict[int, str] = {}

    def create_name(self, candidate: str, obj: Any = None) -> str:
        """Return a name like `candidate` that is free; the same object has the same name."""
        if obj is not None and id(obj) in self._of:
            return self._of[id(obj)]
        name = re.sub(r"[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        name = f"_{name}" if name[0].isdigit() else name
        base, _, number = name.rpartition("_")
        count = self._counts.get(name, 0)
        if base and number.isdigit() and name in self._used:
            name, count = base, max(int(number), self._counts.get(base, 0))
        base = name
        while name in self._used or keyword.iskeyword(name) or getattr(builtins, name, obj) is not obj or name in ("inf", "nan"):
            count += 1
            name = f"{base}_{count}"
        self._used.add(name)
        self._counts[base] = max(count, self._counts.get(base, 0))
        if obj is not None:
            self._of[id(obj)] = name
        return name

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        """Remember the name of an object."""
        self._of[id(obj)] = name


class _node_list:
    """The nodes of a graph in order; nodes may be inserted and erased while it is iterated."""

    graph: Graph
    direction: str

    def __init__(self, graph: Graph, direction: str = "_next") -> None:
        self.graph, self.direction = graph, direction

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        root = current = self.graph._root
        while (current := getattr(current, self.direction)) is not root:
            if not current._erased:
                yield current

    def __reversed__(self) -> _node_list:
        return _node_list(self.graph, "_prev" if self.direction == "_next" else "_next")


def _snake_case(text: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", text).lower()


class CodeGen:
    """How the function of a graph is written."""

    def __init__(self) -> None:
        self._body_transformer: Any = None

    def process_inputs(self, *args: Any) -> Any:
        """Return the arguments of the graph."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """Return the result of the graph."""
        return outputs


class Graph:
    """Steps in the order in which they run. See `torch.fx.Graph`."""

    def __init__(self, owning_module: Any = None, tracer_cls: Any = None, tracer_extras: Any = None) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._len = 0
        self._graph_namespace = _Namespace()
        self._insert: Callable[[Node], None] = self._root.prepend
        self.owning_module: Any = owning_module
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras
        self._codegen = CodeGen()
        self._co_fields: dict[str, Any] = {}

    @property
    def nodes(self) -> _node_list:
        """The steps."""
        return _node_list(self)

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        """Return the nodes of one kind, and of one target if it is given."""
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    def output_node(self) -> Node:
        """Return the node of the result."""
        return next(iter(reversed(self.nodes)))

    def create_node(self, op: str, target: Any, args: Any = None, kwargs: Any = None, name: str | None = None, type_expr: Any = None) -> Node:
        """Add a step where nodes are inserted now, which is the end unless `inserting_before` says otherwise."""
        candidate = name if name is not None else self._target_to_str(target)
        n = Node(self, self._graph_namespace.create_name(candidate), op, target, args or (), kwargs or {}, type_expr)
        self._graph_namespace.associate_name_with_obj(n.name, n)
        self._insert(n)
        self._len += 1
        return n

    def _target_to_str(self, target: Any) -> str:
        if callable(target):
            name = target.__name__
        else:
            name = target[2:-2] if target.startswith("__") and target.endswith("__") else target
        return _snake_case(name)

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """Add an argument."""
        return self.create_node("placeholder", name, () if default_value is ... else (default_value,), type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """Add the reading of an attribute of the module."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None) -> Node:
        """Add a call of a submodule."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None) -> Node:
        """Add a call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(self, the_function: Any, args: Any = None, kwargs: Any = None, type_expr: Any = None, name: str | None = None) -> Node:
        """Add a call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result: Any, type_expr: Any = None) -> Node:
        """Add the result."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def erase_node(self, to_erase: Node) -> None:
        """Remove a step that nothing reads."""
        if to_erase.users:
            raise RuntimeError(f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: {to_erase.users}!")
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            return
        before, after = to_erase._prev, to_erase._next
        before._next, after._prev = after, before  # its own links stay, so that a loop over the nodes goes on from here
        to_erase._erased = True
        self._len -= 1
        to_erase._set((), {})

    def inserting_before(self, n: Node | None = None) -> Any:
        """Insert new nodes before this one, in a `with` block or from now on."""
        return _InsertPoint(self, self._root.append if n is None else n.prepend)

    def inserting_after(self, n: Node | None = None) -> Any:
        """Insert new nodes after this one."""
        return _InsertPoint(self, self._root.prepend if n is None else n.append)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda x: x) -> Node:
        """Add a copy of a node of another graph; `arg_transform` finds this graph's nodes for its arguments."""
        args, kwargs = map_arg((node.args, node.kwargs), arg_transform)
        new = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        new.meta = copy.copy(node.meta)
        return new

    def graph_copy(self, g: Graph, val_map: dict[Node, Any], return_output_node: bool = False) -> Any:
        """Add copies of all nodes of a graph, and return what its result is here."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                found = map_arg(node.args[0], lambda n: val_map[n])
                return (found, node) if return_output_node else found
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Remove steps whose results are not used; return whether there were any."""
        impure, changed = is_impure_node or Node.is_impure, False
        for node in reversed(self.nodes):
            if not node.users and not impure(node):
                self.erase_node(node)
                changed = True
        return changed

    def lint(self) -> None:
        """Raise if a step reads one that comes later or is of another graph, or if a target of the module is missing."""
        seen: set[Node] = set()
        names: set[str] = set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for read in node.all_input_nodes:
                if read not in seen:
                    raise RuntimeError(
                        f"Argument '{read}' of Node '{node}' was used before it has been defined! "
                        f"Please check that Nodes in the graph are topologically ordered\n{self}"
                    )
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            seen.add(node)
            names.add(node.name)
            if self.owning_module is not None and node.op in ("get_attr", "call_module"):
                at: Any = self.owning_module
                for part in node.target.split("."):
                    if not hasattr(at, part):
                        raise RuntimeError(f"Node {node} target {node.target} references nonexistent attribute {part} of {at}")
                    at = getattr(at, part)

    def python_code(self, root_module: str = "self", **options: Any) -> PythonCode:
        """Return the code of a function `forward` that runs the graph."""
        from undertow.as_torch.shims.fx._codegen import write

        return write(self, root_module)

    def on_generate_code(self, make_transformer: Any) -> Any:
        """Set a function that rewrites the lines of the generated code; used in a `with` block or from now on."""
        self._codegen._body_transformer = make_transformer(self._codegen._body_transformer)
        return contextlib.nullcontext()

    def set_codegen(self, codegen: CodeGen) -> None:
        """Set how code is written."""
        self._codegen = codegen

    def process_inputs(self, *args: Any) -> Any:
        """Return the arguments of the graph."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """Return the result of the graph."""
        return self._codegen.process_outputs(out)

    def print_tabular(self) -> None:
        """Print a table of the steps."""
        rows = [("opcode", "name", "target", "args", "kwargs"), *((n.op, n.name, str(n.target), str(n.args), str(n.kwargs)) for n in self.nodes)]
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        for i, row in enumerate(rows):
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
            if i == 0:
                print("  ".join("-" * width for width in widths))

    def __str__(self) -> str:
        arguments = [n.name + (f" : {n.type}" if n.type is not None else "") for n in self.nodes if n.op == "placeholder"]
        lines = [n.format_node() for n in self.nodes]
        return "graph():\n    " + "\n    ".join(lines) if arguments or lines else "graph():"

    def __deepcopy__(self, memo: Any = None) -> Graph:
        new = Graph(tracer_cls=self._tracer_cls)
        copied = new.graph_copy(self, val_map := {}, return_output_node=True)
        if copied is not None:
            value, old = copied
            made = new.output(value, old.type)
            made.meta = copy.copy(old.meta)
            val_map[old] = made
        new._codegen = copy.deepcopy(self._codegen)
        return new


class _InsertPoint:
    """Restores the place of insertion at the end of a `with` block."""

    def __init__(self, graph: Graph, insert: Callable[[Node], None]) -> None:
        self.graph, self.saved, graph._insert = graph, graph._insert, insert

    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None:
        self.graph._insert = self.saved
