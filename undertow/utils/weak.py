"""Dictionaries that know their keys by identity and do not keep them alive, as torch.utils.weak."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, MutableMapping
from typing import Any

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref):
    """A weak reference that is equal to those to the very same object."""

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Any = None) -> None:
        super().__init__(key, callback)
        self._id = id(key)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine, theirs = self(), other() if isinstance(other, weakref.ref) else None
        return mine is theirs if mine is not None and theirs is not None else self is other


TensorWeakRef = WeakIdRef


class WeakIdKeyDictionary(MutableMapping):
    """A dictionary by identity; an entry goes when its key does.

    >>> class Key: pass
    >>> key, d = Key(), WeakIdKeyDictionary()
    >>> d[key] = 1
    >>> key in d, len(d)
    (True, 1)
    >>> del key
    >>> len(d)
    0
    """

    def __init__(self, dict: Any = None, ref_type: Any = WeakIdRef) -> None:
        self.data: Any = {}
        self._ref = ref_type
        self.update(dict or {})

    def __getitem__(self, key: Any) -> Any:
        return self.data[self._ref(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self._ref(key, lambda ref, data=self.data: data.pop(ref, None))] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self._ref(key)]

    def __contains__(self, key: object) -> bool:
        try:
            return self._ref(key) in self.data
        except TypeError:
            return False

    def __iter__(self) -> Iterator[Any]:
        return iter([key for ref in list(self.data) if (key := ref()) is not None])

    def __len__(self) -> int:
        return len(self.data)


WeakTensorKeyDictionary = WeakIdKeyDictionary
