"""Leaves of nested containers with their paths (indices, keys and attributes), and queries about container types."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

from undertow.utils import _pytree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "GetAttrKey",
    "MappingKey",
    "SequenceKey",
    "_dict_flatten",
    "_dict_flatten_with_keys",
    "_dict_unflatten",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "is_structseq",
    "is_structseq_class",
    "is_structseq_instance",
    "key_get",
    "keystr",
    "tree_flatten_with_path",
    "tree_leaves_with_path",
    "tree_map_with_path",
    "treespec_pprint",
]


@dataclass(frozen=True)
class SequenceKey:
    """An index in a list, tuple or deque."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """Return the element."""
        return sequence[self.idx]


@dataclass(frozen=True)
class MappingKey:
    """A key of a dictionary."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """Return the value."""
        return mapping[self.key]


@dataclass(frozen=True)
class GetAttrKey:
    """An attribute of a named tuple or an object."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """Return the attribute."""
        return getattr(obj, self.name)


def _dict_flatten(d: dict[Any, Any]) -> tuple[list[Any], list[Any]]:
    """Return values and keys; programs use it to register their own dictionary-like classes."""
    return list(d.values()), list(d)


def _dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[tuple[Any, Any]], list[Any]]:
    return [(MappingKey(k), v) for k, v in d.items()], list(d)


def _dict_unflatten(values: Any, context: list[Any]) -> dict[Any, Any]:
    return dict(zip(context, values, strict=True))


def keystr(kp: tuple[Any, ...]) -> str:
    """Format a path as Python code.

    >>> from undertow.utils._pytree import keystr, tree_leaves_with_path
    >>> [keystr(path) for path, leaf in tree_leaves_with_path({"a": [1, 2]})]
    ["['a'][0]", "['a'][1]"]
    """
    return "".join(str(k) for k in kp)


def key_get(obj: Any, kp: tuple[Any, ...]) -> Any:
    """Return the object at a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


def _keys(tree: Any, t: type, count: int) -> list[Any]:
    if _pytree._is_dict(t):
        return [MappingKey(k) for k in tree]
    if hasattr(t, "_fields"):
        return [GetAttrKey(name) for name in t._fields]
    if t in _pytree._registered and (flatten := _pytree._registered[t][2]) is not None:
        return [key for key, _ in flatten(tree)[0]]
    if not issubclass(t, (list, tuple, deque)):
        raise ValueError(f"Did not find a flatten_with_keys_fn for type: {t}. Please pass a flatten_with_keys_fn argument to register_pytree_node.")
    return [SequenceKey(i) for i in range(count)]


def _walk(tree: Any, before: tuple[Any, ...], is_leaf: Callable[[Any], bool] | None) -> Iterator[tuple[tuple[Any, ...], Any]]:
    found = None if is_leaf is not None and is_leaf(tree) else _pytree._children(tree)
    if found is None:
        yield before, tree
        return
    t, _, children = found
    for key, child in zip(_keys(tree, t, len(children)), children, strict=True):
        yield from _walk(child, (*before, key), is_leaf)


def tree_leaves_with_path(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[tuple[tuple[Any, ...], Any]]:
    """Return (path, leaf) for every leaf."""
    return list(_walk(tree, (), is_leaf))


def tree_flatten_with_path(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[tuple[tuple[Any, ...], Any]], Any]:
    """Return (path, leaf) for every leaf, and the structure."""
    return tree_leaves_with_path(tree, is_leaf), _pytree.tree_structure(tree, is_leaf)


def tree_map_with_path(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """`tree_map` with func(path, leaf, …)."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    ways, leaves = [way for way, _ in pairs], [leaf for _, leaf in pairs]
    return spec.unflatten(func(*xs) for xs in zip(ways, leaves, *(spec.flatten_up_to(r) for r in rests), strict=True))


def is_namedtuple_class(cls: type) -> bool:
    """Return True if `cls` is a named tuple class."""
    return isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "_fields")


def is_namedtuple(obj: Any) -> bool:
    """Return True if `obj` is a named tuple or a named tuple class."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_instance(obj: Any) -> bool:
    """Return True if `obj` is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_structseq_class(cls: type) -> bool:
    """Return True if `cls` is one of the core's return types."""
    return isinstance(cls, type) and _pytree._is_named(cls) and not hasattr(cls, "_fields")


def is_structseq(obj: Any) -> bool:
    """Return True if `obj` is an instance of one of the core's return types, or such a type."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_instance(obj: Any) -> bool:
    """Return True if `obj` is an instance of one of the core's return types."""
    return is_structseq_class(type(obj))


def treespec_pprint(spec: _pytree.TreeSpec) -> str:
    """Format the structure as text."""
    return repr(spec)
