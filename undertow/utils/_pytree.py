"""Nested containers as a list of leaves and a description of the structure.

Containers are tuples, lists, dictionaries (including OrderedDict and defaultdict), deques, named tuples, the core's return types and
registered classes; everything else, including None, is a leaf. Paths to leaves are in _pytree_paths.py.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any


class TreeSpec:
    """The structure of a tree: a container's type, the context needed to rebuild it, and its children."""

    __slots__ = ("context", "children_specs", "num_leaves", "type")

    def __init__(self, type: type | None, context: Any, children_specs: list[TreeSpec]) -> None:
        self.type = type  # None for a leaf
        self.context = context
        self.children_specs = children_specs
        self.num_leaves: int = 1 if type is None else sum(c.num_leaves for c in children_specs)

    @property
    def num_children(self) -> int:
        """The number of direct children."""
        return len(self.children_specs)

    @property
    def num_nodes(self) -> int:
        """The number of containers and leaves, including this one."""
        return 1 + sum(c.num_nodes for c in self.children_specs)

    def is_leaf(self) -> bool:
        """Return True if this is a leaf."""
        return self.type is None

    def children(self) -> list[TreeSpec]:
        """Return the direct children."""
        return list(self.children_specs)

    def child(self, index: int) -> TreeSpec:
        """Return one of `children`."""
        return self.children_specs[index]

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Build a tree with this structure from leaves."""
        return tree_unflatten(leaves, self)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """Return the subtrees of `tree` at the leaves of this structure."""
        if self.type is None:
            return [tree]
        found = _children(tree)
        if found is None or found[0] is not self.type:
            raise ValueError(f"Type mismatch; expected {self.type!r}, but got {type(tree)!r}.")
        if len(found[2]) != len(self.children_specs):
            raise ValueError(f"Node arity mismatch; expected {len(self.children_specs)}, but got {len(found[2])}.")
        children = found[2]
        if _is_dict(self.type) and found[1] != self.context:
            keys = self.context[1] if self.type is defaultdict else self.context
            if set(keys) != set(tree):
                raise ValueError(f"Node keys mismatch; expected {keys}, but got {list(tree)}.")
            children = [tree[k] for k in keys]
        return [x for spec, child in zip(self.children_specs, children, strict=True) for x in spec.flatten_up_to(child)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        if self.type is not other.type or len(self.children_specs) != len(other.children_specs):
            return False
        return self.context == other.context and all(
            a == b for a, b in zip(self.children_specs, other.children_specs, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]  # compared by value

    def __repr__(self) -> str:
        if self.type is None:
            return "*"
        inside = [repr(c) for c in self.children_specs]
        if _is_dict(self.type):
            keys = self.context[1] if self.type is defaultdict else self.context
            return "{" + ", ".join(f"{k!r}: {c}" for k, c in zip(keys, inside, strict=True)) + "}"
        if self.type is list:
            return f"[{', '.join(inside)}]"
        name = "" if self.type is tuple else self.type.__name__
        return f"{name}({', '.join(inside)}{',' * (not name and len(inside) == 1)})"


_LEAF = TreeSpec(None, None, [])
# type -> (flatten: tree -> (children, context), unflatten: (children, context) -> tree, flatten with (key, child) pairs or None); see
# register_pytree_node
_registered: dict[type, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any] | None]] = {}


def LeafSpec() -> TreeSpec:
    """Return the structure of a leaf."""
    return _LEAF


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[list[Any], Any]],
    unflatten_fn: Callable[[Iterable[Any], Any], Any],
    *,
    flatten_with_keys_fn: Callable[[Any], tuple[list[Any], Any]] | None = None,
    **more: Any,
) -> None:
    """Register a class as a container: `flatten_fn` returns children and context, `unflatten_fn` takes both."""
    if cls in _registered:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _registered[cls] = (flatten_fn, unflatten_fn, flatten_with_keys_fn)


_register_pytree_node = register_pytree_node


def register_dataclass(cls: type, *, field_names: list[str] | None = None, drop_field_names: list[str] | None = None, **more: Any) -> None:
    """Register a dataclass as a container of its fields."""
    import dataclasses

    dropped = set(drop_field_names or ())
    names = field_names or [f.name for f in dataclasses.fields(cls) if f.init and f.name not in dropped]
    register_pytree_node(
        cls, lambda x: ([getattr(x, n) for n in names], None), lambda children, _: cls(**dict(zip(names, children, strict=True)))
    )


def _is_dict(t: type) -> bool:
    return t in (dict, OrderedDict, defaultdict)


def _is_named(t: type) -> bool:
    """Return True for a named tuple class or one of the core's return types."""
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
        return t(children)
    if t in (dict, OrderedDict):
        return t(zip(spec.context, children, strict=True))
    if t is defaultdict:
        return defaultdict(spec.context[0], zip(spec.context[1], children, strict=True))
    if t is deque:
        return deque(children, spec.context)
    if t in _registered:
        return _registered[t][1](children, spec.context)
    return t(*children) if hasattr(t, "_fields") else t(children)  # type: ignore[misc]  # a class of the program


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """Return the leaves from left to right, and the structure.

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


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """Build a tree with the given structure and leaves."""
    given = list(leaves)
    if len(given) != treespec.num_leaves:
        raise ValueError(f"tree_unflatten: the tree {treespec} has {treespec.num_leaves} leaves, but got {len(given)}")
    return _built(treespec, iter(given))


def _built(spec: TreeSpec, leaves: Iterator[Any]) -> Any:
    # Not a nested function: that would refer to itself, and keep the leaves alive until garbage collection.
    if spec.type is None:
        return next(leaves)
    return _joined(spec, [_built(c, leaves) for c in spec.children_specs])


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Return the same tree with func(leaf, …) for every leaf; further arguments are the leaves of the other trees.

    >>> from undertow.utils._pytree import tree_map
    >>> tree_map(lambda a, b: a + b, {"x": 1, "y": [2]}, {"x": 10, "y": [20]})
    {'x': 11, 'y': [22]}
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    if not rests:
        return _built(spec, iter([func(x) for x in leaves]))
    return _built(spec, iter([func(*xs) for xs in zip(leaves, *(spec.flatten_up_to(r) for r in rests), strict=True)]))


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Call func for every leaf for its side effects; return the tree itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def map_only(type_or_types_or_pred: Any, /) -> Callable[[Callable[..., Any]], Callable[[Any], Any]]:
    """Decorator: apply the function only to values of the types, or for which the predicate is true; return others unchanged."""
    kinds = type_or_types_or_pred

    def chosen(x: Any) -> bool:
        return isinstance(x, kinds) if isinstance(kinds, (type, tuple)) or not callable(kinds) else kinds(x)

    return lambda func: lambda x: func(x) if chosen(x) else x


def tree_map_only(type_or_types_or_pred: Any, /, func: Callable[..., Any], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """`tree_map` over leaves of the types, or for which the predicate is true; others are unchanged."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred: Any, /, func: Callable[..., Any], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """`tree_map_` over leaves of the types; return the tree itself."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """Return the leaves from left to right."""
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Iterator[Any]:
    """Iterate over the leaves from left to right."""
    return iter(tree_leaves(tree, is_leaf))


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """Return the leaves of a call's arguments."""
    return tree_leaves([*args, *kwargs.values()])


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """Return the structure."""
    return tree_flatten(tree, is_leaf)[1]


def tree_is_leaf(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Return True if `tree` is a leaf."""
    return (is_leaf is not None and is_leaf(tree)) or _children(tree) is None


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Return True if the predicate is true for every leaf."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Return True if the predicate is true for any leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Return True if the predicate is true for every leaf of the types."""
    return all(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Return True if the predicate is true for any leaf of the types."""
    return any(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, type_or_types))


def broadcast_to(tree: Any, spec: TreeSpec) -> list[Any] | None:
    """Repeat the leaves of `tree`, a prefix of `spec`, for all leaves of `spec`; return None if it is not a prefix.

    >>> from undertow.utils._pytree import broadcast_to, tree_flatten
    >>> broadcast_to((0, None), tree_flatten((1, [2, 3]))[1])
    [0, None, None]
    """
    found = _children(tree)
    if found is None:
        return [tree] * spec.num_leaves
    t, context, children = found
    if t is not spec.type or context != spec.context or len(children) != len(spec.children_specs):
        return None
    out: list[Any] = []
    for child, below in zip(children, spec.children_specs, strict=True):
        part = broadcast_to(child, below)
        if part is None:
            return None
        out += part
    return out


def __getattr__(name: str) -> Any:
    from undertow.utils import _pytree_nodes, _pytree_paths  # imported here because they depend on this file

    for part in (_pytree_paths, _pytree_nodes):
        if name in part.__all__:
            return getattr(part, name)
    raise AttributeError(f"module 'undertow.utils._pytree' has no attribute {name!r}")
