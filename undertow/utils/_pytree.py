"""Nested containers as a list of their leaves and a description of the nesting.

Tuples, lists, dictionaries (ordered and default ones too), deques, named tuples, the core's return types and classes
that a program registers are containers; everything else, None too, is a leaf. Paths and rarer walks are in _pytree_walks.py.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any


class TreeSpec:
    """The nesting of a tree: a container's type, what else it needs to be made again, and its children."""

    __slots__ = ("children", "context", "num_leaves", "type")

    def __init__(self, type_: type | None, context: Any, children: list[TreeSpec]) -> None:
        self.type = type_  # None for a leaf
        self.context = context
        self.children = children
        self.num_leaves: int = 1 if type_ is None else sum(c.num_leaves for c in children)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        if self.type is not other.type or len(self.children) != len(other.children):
            return False
        return self.context == other.context and all(
            a == b for a, b in zip(self.children, other.children, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def num_children(self) -> int:
        """The items of the container itself."""
        return len(self.children)

    @property
    def num_nodes(self) -> int:
        """All containers and leaves, this one too."""
        return 1 + sum(c.num_nodes for c in self.children)

    def is_leaf(self) -> bool:
        """Whether it describes no container."""
        return self.type is None

    def child(self, index: int) -> TreeSpec:
        """The nesting of one item."""
        return self.children[index]

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree of this nesting with these leaves."""
        return tree_unflatten(leaves, self)

    def __repr__(self) -> str:
        if self.type is None:
            return "*"
        inside = [repr(c) for c in self.children]
        if _is_dict(self.type):
            keys = self.context[1] if self.type is defaultdict else self.context
            return "{" + ", ".join(f"{k!r}: {c}" for k, c in zip(keys, inside, strict=True)) + "}"
        if self.type is list:
            return f"[{', '.join(inside)}]"
        name = "" if self.type is tuple else self.type.__name__
        return f"{name}({', '.join(inside)}{',' * (not name and len(inside) == 1)})"


_LEAF = TreeSpec(None, None, [])
_registered: dict[type, tuple[Callable[[Any], tuple[Any, Any]], Callable[[Any, Any], Any]]] = {}


def register_pytree_node(cls: type, flatten_fn: Callable[[Any], tuple[Any, Any]], unflatten_fn: Callable[[Any, Any], Any], **more: Any) -> None:
    """Makes a class a container: flatten gives (items, context), unflatten takes them back.

    >>> from undertow.utils._pytree import register_pytree_node, tree_map
    >>> class Pair:
    ...     def __init__(self, a, b): self.a, self.b = a, b
    >>> register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda items, context: Pair(*items))
    >>> tree_map(lambda x: x + 1, Pair(1, 2)).b
    3
    """
    if cls in _registered or cls in (tuple, list, dict, OrderedDict, defaultdict, deque):
        raise ValueError(f"{cls} is already registered as pytree node.")
    _registered[cls] = (flatten_fn, unflatten_fn)


def _is_dict(t: type) -> bool:
    return t in (dict, OrderedDict, defaultdict)


def _is_named(t: type) -> bool:
    """A named tuple, or one of the core's return types."""
    return issubclass(t, tuple) and (hasattr(t, "_fields") or hasattr(t, "n_sequence_fields"))


def _children(tree: Any) -> tuple[type, Any, list[Any]] | None:
    t = type(tree)
    if t in (tuple, list):
        return t, None, list(tree)
    if t in (dict, OrderedDict):
        return t, list(tree), list(tree.values())
    if t is defaultdict:
        return t, (tree.default_factory, list(tree)), list(tree.values())
    if t is deque:
        return t, tree.maxlen, list(tree)
    if t in _registered:
        children, context = _registered[t][0](tree)
        return t, context, list(children)
    return (t, None, list(tree)) if _is_named(t) else None


def _joined(spec: TreeSpec, children: list[Any]) -> Any:
    t = spec.type
    if t in (tuple, list):
        return t(children)  # type: ignore[misc]
    if t in (dict, OrderedDict):
        return t(zip(spec.context, children, strict=True))  # type: ignore[misc]
    if t is defaultdict:
        return defaultdict(spec.context[0], zip(spec.context[1], children, strict=True))
    if t is deque:
        return deque(children, spec.context)
    if t in _registered:
        return _registered[t][1](children, spec.context)
    return t(*children) if hasattr(t, "_fields") else t(children)  # type: ignore[misc]


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves from left to right, and the nesting.

    >>> from undertow.utils._pytree import tree_flatten
    >>> tree_flatten({"a": 1, "b": (2, [3])})
    ([1, 2, 3], {'a': *, 'b': (*, [*])})
    """
    found = None if is_leaf is not None and is_leaf(tree) else _children(tree)
    if found is None:
        return [tree], _LEAF
    t, context, children = found
    leaves: list[Any] = []
    specs = []
    for child in children:
        below, spec = tree_flatten(child, is_leaf)
        leaves += below
        specs.append(spec)
    return leaves, TreeSpec(t, context, specs)


def tree_unflatten(leaves: Iterable[Any], spec: TreeSpec) -> Any:
    """The tree of this nesting with these leaves."""
    given = list(leaves)
    if len(given) != spec.num_leaves:
        raise ValueError(
            f"tree_unflatten: the tree {spec} has {spec.num_leaves} leaves, but got {len(given)}"
        )
    return _built(spec, iter(given))


def _built(spec: TreeSpec, leaves: Iterator[Any]) -> Any:
    # Not a function inside of another: it would refer to itself, and keep the leaves until the collector comes.
    if spec.type is None:
        return next(leaves)
    return _joined(spec, [_built(c, leaves) for c in spec.children])


def tree_map(f: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """The same tree with f(leaf) for every leaf; with more trees, f of the leaves that stand at one place."""
    leaves, spec = tree_flatten(tree, is_leaf)
    if not rests:
        return tree_unflatten([f(x) for x in leaves], spec)
    return tree_unflatten([f(*each) for each in zip(leaves, *(_leaves_at(spec, r) for r in rests), strict=True)], spec)


def _leaves_at(spec: TreeSpec, tree: Any) -> list[Any]:
    """What stands in another tree where this nesting has its leaves."""
    if spec.type is None:
        return [tree]
    found = _children(tree)
    if found is None or found[0] is not spec.type or len(found[2]) != len(spec.children):
        raise ValueError(f"Node type mismatch; expected {spec.type} of {len(spec.children)} items, but got {tree!r}.")
    return [x for s, child in zip(spec.children, found[2], strict=True) for x in _leaves_at(s, child)]


def broadcast_to(tree: Any, spec: TreeSpec) -> list[Any] | None:
    """The leaves of `tree` over a nesting it is a prefix of, each repeated for all below it; None if it is not one.

    >>> from undertow.utils._pytree import broadcast_to, tree_flatten
    >>> broadcast_to((0, None), tree_flatten((1, [2, 3]))[1])
    [0, None, None]
    """
    found = _children(tree)
    if found is None:
        return [tree] * spec.num_leaves
    t, context, children = found
    if t is not spec.type or context != spec.context or len(children) != len(spec.children):
        return None
    out: list[Any] = []
    for child, below in zip(children, spec.children, strict=True):
        part = broadcast_to(child, below)
        if part is None:
            return None
        out += part
    return out


def __getattr__(name: str) -> Any:
    from undertow.utils import _pytree_walks

    if name.startswith("__") or not hasattr(_pytree_walks, name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_pytree_walks, name)
