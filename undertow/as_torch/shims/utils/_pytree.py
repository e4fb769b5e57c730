"""The functions that flatten and rebuild each kind of container, which programs that traverse trees themselves import."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from typing import Any

from undertow.utils._pytree_paths import GetAttrKey, MappingKey, SequenceKey

__all__ = [
    "KeyEntry",
    "KeyPath",
    "_broadcast_to_and_flatten",
    "_defaultdict_flatten",
    "_defaultdict_flatten_with_keys",
    "_defaultdict_unflatten",
    "_deque_flatten",
    "_deque_flatten_with_keys",
    "_deque_unflatten",
    "_is_leaf",
    "_list_flatten",
    "_list_flatten_with_keys",
    "_list_unflatten",
    "_namedtuple_flatten",
    "_namedtuple_flatten_with_keys",
    "_namedtuple_unflatten",
    "_odict_flatten",
    "_ordereddict_flatten",
    "_ordereddict_flatten_with_keys",
    "_odict_unflatten",
    "_ordereddict_unflatten",
    "_tuple_flatten",
    "_tuple_flatten_with_keys",
    "_tuple_unflatten",
]

KeyEntry = Any
KeyPath = tuple[Any, ...]


def _tuple_flatten(d: tuple[Any, ...]) -> tuple[list[Any], Any]:
    return list(d), None


def _tuple_unflatten(values: Any, context: Any) -> tuple[Any, ...]:
    return tuple(values)


def _list_flatten(d: list[Any]) -> tuple[list[Any], Any]:
    return d, None


def _list_unflatten(values: Any, context: Any) -> list[Any]:
    return list(values)


def _list_flatten_with_keys(d: Any) -> tuple[list[tuple[Any, Any]], Any]:
    return [(SequenceKey(i), value) for i, value in enumerate(d)], None


_tuple_flatten_with_keys = _list_flatten_with_keys


def _namedtuple_flatten(d: Any) -> tuple[list[Any], Any]:
    return list(d), type(d)


def _namedtuple_flatten_with_keys(d: Any) -> tuple[list[tuple[Any, Any]], Any]:
    return [(GetAttrKey(name), value) for name, value in zip(d._fields, d, strict=True)], type(d)


def _namedtuple_unflatten(values: Any, context: Any) -> Any:
    return context(*values)


def _ordereddict_flatten(d: OrderedDict[Any, Any]) -> tuple[list[Any], Any]:
    return list(d.values()), list(d.keys())


def _ordereddict_flatten_with_keys(d: OrderedDict[Any, Any]) -> tuple[list[tuple[Any, Any]], Any]:
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


def _ordereddict_unflatten(values: Any, context: Any) -> OrderedDict[Any, Any]:
    return OrderedDict(zip(context, values, strict=True))


_odict_flatten, _odict_unflatten = _ordereddict_flatten, _ordereddict_unflatten


def _defaultdict_flatten(d: defaultdict[Any, Any]) -> tuple[list[Any], Any]:
    return list(d.values()), [d.default_factory, list(d)]


def _defaultdict_flatten_with_keys(d: defaultdict[Any, Any]) -> tuple[list[tuple[Any, Any]], Any]:
    return [(MappingKey(key), value) for key, value in d.items()], [d.default_factory, list(d)]


def _defaultdict_unflatten(values: Any, context: Any) -> defaultdict[Any, Any]:
    factory, keys = context
    return defaultdict(factory, zip(keys, values, strict=True))


def _deque_flatten(d: deque[Any]) -> tuple[list[Any], Any]:
    return list(d), d.maxlen


def _deque_flatten_with_keys(d: deque[Any]) -> tuple[list[tuple[Any, Any]], Any]:
    return [(SequenceKey(i), value) for i, value in enumerate(d)], d.maxlen


def _deque_unflatten(values: Any, context: Any) -> deque[Any]:
    return deque(values, maxlen=context)


def _is_leaf(tree: Any, is_leaf: Any = None) -> bool:
    from undertow.utils._pytree import tree_is_leaf

    return tree_is_leaf(tree, is_leaf)


def _broadcast_to_and_flatten(tree: Any, treespec: Any, is_leaf: Any = None) -> list[Any] | None:
    from undertow.utils._pytree import broadcast_to

    return broadcast_to(tree, treespec)
