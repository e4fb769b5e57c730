"""The table of container types, which programs that traverse trees themselves use from torch.utils._pytree."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from undertow.utils import _pytree

__all__ = ["SUPPORTED_NODES", "Context", "NodeDef", "PyTree", "_get_node_type"]

Context = PyTree = Any
_BUILT_IN = (tuple, list, dict, OrderedDict, defaultdict, deque, namedtuple)


def _get_node_type(tree: Any) -> Any:
    """Return the type under which the table has the container; `namedtuple` for all named tuples."""
    return namedtuple if _pytree._is_named(type(tree)) else type(tree)


class NodeDef(NamedTuple):
    """How to flatten and unflatten a container."""

    type: Any
    flatten_fn: Any
    unflatten_fn: Any


class _Supported(Mapping):
    """A mapping of all current container types."""

    def __getitem__(self, t: Any) -> NodeDef:
        if t in _pytree._registered:
            return NodeDef(t, *_pytree._registered[t][:2])
        if t not in _BUILT_IN:
            raise KeyError(t)

        def flatten(tree: Any) -> tuple[list[Any], Any]:
            kind, context, children = _pytree._children(tree) or (t, None, [])
            return children, kind if t is namedtuple else context

        def unflatten(children: Any, context: Any) -> Any:
            children = list(children)
            return _pytree._joined(_pytree.TreeSpec(context if t is namedtuple else t, context, []), children)

        return NodeDef(t, flatten, unflatten)

    def __iter__(self) -> Iterator[Any]:
        return iter((*_BUILT_IN, *_pytree._registered))

    def __len__(self) -> int:
        return len(_BUILT_IN) + len(_pytree._registered)


SUPPORTED_NODES = _Supported()
