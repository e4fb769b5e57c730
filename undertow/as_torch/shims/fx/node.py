"""`torch.fx.node`: one step of a graph, with the steps it reads and the steps that read it."""

from __future__ import annotations

import builtins
import inspect
import types
from typing import Any, NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from undertow.as_torch.shims.fx.graph import Graph

__all__ = ["Node", "has_side_effect", "map_aggregate", "map_arg"]

Target = Argument = object
_legal_ops = frozenset(("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root"))
_side_effectful_functions: set[Any] = set()


def has_side_effect(fn: Any) -> Any:
    """Say that calls of a function stay in a graph although nothing reads their result."""
    _side_effectful_functions.add(fn)
    return fn


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """Apply a function to everything in nested tuples, lists, dicts and slices.

    >>> map_aggregate([1, {"a": (2,)}], lambda x: x + 1)
    [2, {'a': (3,)}]
    """
    if isinstance(a, tuple):
        parts = [map_aggregate(each, fn) for each in a]
        return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)
    if isinstance(a, list):
        return [map_aggregate(each, fn) for each in a]
    if isinstance(a, dict):
        return {key: map_aggregate(value, fn) for key, value in a.items()}
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """Apply a function to the nodes in arguments."""
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def _get_qualified_name(func: Any) -> str:
    """Return the name by which a function can be found: `torch.nn.functional.relu`, `operator.add`, `len`."""
    plain = getattr(func, "__name__", "")
    if plain and getattr(builtins, plain, None) is func:
        return plain
    name = getattr(func, "__qualname__", None) or getattr(func, "__name__", None) or type(func).__name__
    module = getattr(func, "__module__", None) or ""
    if isinstance(func, (types.MethodDescriptorType, types.WrapperDescriptorType)):
        return f"{func.__objclass__.__module__}.{func.__objclass__.__name__}.{func.__name__}"
    if module == "_operator":
        module = "operator"
    if module in ("torch._C._nn", "undertow._C"):
        module = "torch"
    return f"{module}.{name.rpartition('.')[2]}" if module else name


def _format_arg(arg: Any) -> str:
    if isinstance(arg, Node):
        return f"%{arg.name}"
    if isinstance(arg, list):
        return f"[{', '.join(map(_format_arg, arg))}]"
    if isinstance(arg, tuple):
        return f"({', '.join(map(_format_arg, arg))}{',' if len(arg) == 1 else ''})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{k}: {_format_arg(v)}" for k, v in arg.items()) + "}"
    return str(arg)


class ArgsKwargsPair(NamedTuple):
    """The arguments of a call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class Node:
    """One step: `op` says of which kind, `target` what is called or read.

    `placeholder` is an argument of the graph, `get_attr` an attribute of its module, `call_function`, `call_module` and `call_method` are calls,
    `output` is the result. Nodes are a doubly linked list whose root is no step.
    """

    def __init__(self, graph: Graph, name: str, op: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], return_type: Any = None) -> None:
        if op not in _legal_ops:
            raise AssertionError(f"op '{op}' is not one of {sorted(_legal_ops)}")
        if op == "call_function":
            if not callable(target):
                raise ValueError(f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)} but a Callable is expected")
        elif not isinstance(target, str):
            raise ValueError(f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)} but a str is expected")
        self.graph: Graph = graph
        self.name: str = name
        self.op: str = op
        self.target: Any = target
        self.type: Any = return_type
        self._input_nodes: dict[Node, None] = {}
        self.users: dict[Node, None] = {}
        self._prev = self._next = self
        self._erased = False
        self.meta: dict[str, Any] = {}
        self._args: tuple[Any, ...] = ()
        self._kwargs: dict[str, Any] = {}
        self._set(args, kwargs)

    def _set(self, args: Any, kwargs: Any) -> None:
        """Set the arguments, and update who reads whom."""
        for old in self._input_nodes:
            old.users.pop(self, None)
        self._args, self._kwargs, self._input_nodes = tuple(map_aggregate(tuple(args), lambda x: x)), map_aggregate(dict(kwargs), lambda x: x), {}

        def reads(node: Node) -> Node:
            self._input_nodes[node] = node.users[self] = None
            return node

        map_arg((self._args, self._kwargs), reads)

    @property
    def args(self) -> tuple[Any, ...]:
        """The positional arguments; nodes stand for their results."""
        return self._args

    @args.setter
    def args(self, a: Any) -> None:
        self._set(a, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        """The keyword arguments."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k: Any) -> None:
        self._set(self._args, k)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once."""
        return list(self._input_nodes)

    @property
    def next(self) -> Node:
        """The following node."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before."""
        return self._prev

    @property
    def stack_trace(self) -> str | None:
        """Where the step was recorded, if somebody stored it."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def prepend(self, x: Node) -> None:
        """Move `x` before this node."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            return
        x._unlink()
        p = self._prev
        p._next, x._prev, x._next, self._prev = x, p, self, x

    def append(self, x: Node) -> None:
        """Move `x` after this node."""
        self._next.prepend(x)

    def _unlink(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev
        self._prev = self._next = self

    def update_arg(self, idx: int, arg: Any) -> None:
        """Replace one positional argument."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Any) -> None:
        """Insert a positional argument."""
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Any) -> None:
        """Replace one keyword argument."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_all_uses_with(
        self, replace_with: Node, delete_user_cb: Callable[[Node], bool] = lambda user: True, *, propagate_meta: bool = False
    ) -> list[Node]:
        """Let everything that reads this node read another one; return what was changed."""
        if propagate_meta:
            replace_with.meta.update(self.meta)
        changed = [user for user in list(self.users) if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Read `new_input` where this node reads `old_input`."""
        args, kwargs = map_arg((self.args, self.kwargs), lambda n: new_input if n is old_input else n)
        self._set(args, kwargs)

    def is_impure(self, impure_random: bool = True) -> bool:
        """Return True if the step must stay although nothing reads it."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            return self.target in _side_effectful_functions or getattr(self.target, "__name__", "") in ("_assert", "_assert_async")
        if self.op == "call_module" and self.graph.owning_module is not None:
            return bool(getattr(self.graph.owning_module.get_submodule(self.target), "is_impure", False))
        return False

    def _pretty_print_target(self, target: Any) -> str:
        if isinstance(target, str):
            return target
        name = _get_qualified_name(target)
        return name if "." in name else f"builtins.{name}"

    def format_node(self, *unused: Any, **also: Any) -> str:
        """Return the line that `str(graph)` has for this node."""
        kind = f" : [num_users={len(self.users)}]"
        if self.op == "placeholder":
            default = f"(default={self.args[0]})" if self.args else ""
            return f"%{self.name} :{kind[2:]} = placeholder[target={self.target}]{default}"
        if self.op == "get_attr":
            return f"%{self.name} :{kind[2:]} = get_attr[target={self.target}]"
        if self.op == "output":
            return f"return {self.args[0]}"
        kwargs = "{" + ", ".join(f"{k}: {_format_arg(v)}" for k, v in self.kwargs.items()) + "}"
        called = f"{self.op}[target={self._pretty_print_target(self.target)}]"
        return f"%{self.name} :{kind[2:]} = {called}(args = {_format_arg(self.args)}, kwargs = {kwargs})"

    def normalized_arguments(self, root: Any, arg_types: Any = None, kwarg_types: Any = None, normalize_to_only_use_kwargs: bool = False) -> Any:
        """Return arguments as keywords where the target has a signature, else None."""
        target = root.get_submodule(self.target).forward if self.op == "call_module" else self.target
        try:
            bound = inspect.signature(target).bind(*self.args, **self.kwargs)
        except (TypeError, ValueError):
            return None
        bound.apply_defaults()
        return ArgsKwargsPair((), dict(bound.arguments)) if normalize_to_only_use_kwargs else ArgsKwargsPair(bound.args, bound.kwargs)

    def __repr__(self) -> str:
        return self.name
