"""The rarer walks over nested containers: leaves of some types, paths to leaves, questions. See _pytree.py."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

from undertow.utils._pytree import _LEAF, TreeSpec, _children, _is_dict, _is_named, register_pytree_node, tree_flatten, tree_map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PyTree = Any
Context = Any
IsLeaf = Any  # a function of a tree, or None
_register_pytree_node = _private_register_pytree_node = register_pytree_node


class SequenceKey(NamedTuple):
    """The place of an item in a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """The item."""
        return sequence[self.idx]


class MappingKey(NamedTuple):
    """The place of an item in a dictionary."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """The item."""
        return mapping[self.key]


class GetAttrKey(NamedTuple):
    """The place of a field."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """The field."""
        return getattr(obj, self.name)


def LeafSpec() -> TreeSpec:
    """The nesting of a leaf: none."""
    return _LEAF


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves from left to right.

    >>> tree_leaves({"a": 1, "b": (2, [3])})
    [1, 2, 3]
    """
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree: Any, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """The leaves, one after the other."""
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> TreeSpec:
    """The nesting."""
    return tree_flatten(tree, is_leaf)[1]


def tree_is_leaf(tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether it is no container."""
    return (is_leaf is not None and is_leaf(tree)) or _children(tree) is None


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """The leaves of all arguments."""
    return tree_leaves((args, kwargs))


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """Calls func on every leaf, for what it does; the tree itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _of(kinds: Any, x: Any) -> bool:
    return isinstance(x, kinds) if isinstance(kinds, (type, tuple)) or not callable(kinds) else kinds(x)


def map_only(kinds: Any, /) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """A decorator: the function for leaves of these types (or for which this predicate holds), identity for others."""
    return lambda func: lambda x: func(x) if _of(kinds, x) else x


def tree_map_only(kinds: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf = None) -> Any:
    """The tree with func(leaf) for leaves of these types.

    >>> tree_map_only(int, lambda x: x + 1, [1, "a"])
    [2, 'a']
    """
    return tree_map(map_only(kinds)(func), tree, is_leaf=is_leaf)


def tree_map_only_(kinds: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf = None) -> Any:
    """Calls func on leaves of these types; the tree itself."""
    return tree_map_(map_only(kinds)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether it holds for every leaf."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether it holds for some leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(kinds: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether it holds for every leaf of these types."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if _of(kinds, x))


def tree_any_only(kinds: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether it holds for some leaf of these types."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if _of(kinds, x))


def _keys(t: type, context: Any, count: int) -> list[Any]:
    if _is_dict(t):
        return [MappingKey(k) for k in (context[1] if isinstance(context, tuple) else context)]
    if hasattr(t, "_fields"):
        return [GetAttrKey(name) for name in t._fields]
    if dataclasses.is_dataclass(t):
        return [GetAttrKey(f.name) for f in dataclasses.fields(t)][:count]
    return [SequenceKey(i) for i in range(count)]


def _with_paths(path: tuple[Any, ...], tree: Any, is_leaf: IsLeaf) -> Iterator[tuple[tuple[Any, ...], Any]]:
    found = None if is_leaf is not None and is_leaf(tree) else _children(tree)
    if found is None:
        yield path, tree
        return
    t, context, children = found
    for key, child in zip(_keys(t, context, len(children)), children, strict=True):
        yield from _with_paths((*path, key), child, is_leaf)


def tree_flatten_with_path(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[tuple[tuple[Any, ...], Any]], TreeSpec]:
    """The leaves with the way to each, and the nesting."""
    return list(_with_paths((), tree, is_leaf)), tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree: Any, is_leaf: IsLeaf = None) -> list[tuple[tuple[Any, ...], Any]]:
    """The leaves with the way to each."""
    return list(_with_paths((), tree, is_leaf))


def tree_map_with_path(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """As tree_map; func is first given the way to the leaf.

    >>> tree_map_with_path(lambda path, x: (keystr(path), x), {"a": [1]})
    {'a': [("['a'][0]", 1)]}
    """
    paths = iter([path for path, _ in _with_paths((), tree, is_leaf)])
    return tree_map(lambda *leaves: func(next(paths), *leaves), tree, *rests, is_leaf=is_leaf)


def keystr(kp: tuple[Any, ...]) -> str:
    """The way to a leaf as one would write it."""
    return "".join(str(k) for k in kp)


def key_get(obj: Any, kp: tuple[Any, ...]) -> Any:
    """What stands at the end of a way."""
    for key in kp:
        obj = key.get(obj)
    return obj


def is_namedtuple_class(cls: type) -> bool:
    """Whether it is a class of named tuples."""
    return isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "_fields")


def is_namedtuple(obj: Any) -> bool:
    """Whether it is a named tuple, or a class of them."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_instance(obj: Any) -> bool:
    """Whether it is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_structseq_class(cls: type) -> bool:
    """Whether it is one of the core's return types."""
    return isinstance(cls, type) and _is_named(cls) and not hasattr(cls, "_fields")


def is_structseq(obj: Any) -> bool:
    """Whether it is of one of the core's return types, or such a type."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_instance(obj: Any) -> bool:
    """Whether it is of one of the core's return types."""
    return is_structseq_class(type(obj))


def register_dataclass(cls: type, *, field_names: list[str] | None = None, drop_field_names: list[str] | None = None, **more: Any) -> type:
    """Makes a dataclass a container of its fields."""
    names = field_names or [f.name for f in dataclasses.fields(cls) if f.init and f.name not in (drop_field_names or ())]
    register_pytree_node(cls, lambda d: ([getattr(d, n) for n in names], names), lambda items, context: cls(**dict(zip(context, items, strict=True))))
    return cls


def treespec_pprint(spec: TreeSpec) -> str:
    """The nesting as text."""
    return repr(spec)
