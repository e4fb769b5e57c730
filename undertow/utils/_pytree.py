"""Nested containers as a list of their leaves and a description of the nesting.

Tuples, lists, dictionaries (ordered and default ones too), deques, named tuples and the core's
return types are containers; everything else, None too, is a leaf.
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
    return t(*children) if hasattr(t, "_fields") else t(children)  # type: ignore[misc]


def tree_flatten(tree: Any) -> tuple[list[Any], TreeSpec]:
    """The leaves from left to right, and the nesting.

    >>> from undertow.utils._pytree import tree_flatten
    >>> tree_flatten({"a": 1, "b": (2, [3])})
    ([1, 2, 3], {'a': *, 'b': (*, [*])})
    """
    found = _children(tree)
    if found is None:
        return [tree], _LEAF
    t, context, children = found
    leaves: list[Any] = []
    specs = []
    for child in children:
        below, spec = tree_flatten(child)
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


def tree_map(f: Callable[..., Any], tree: Any) -> Any:
    """The same tree with f(leaf) for every leaf."""
    leaves, spec = tree_flatten(tree)
    return tree_unflatten([f(x) for x in leaves], spec)


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
