"""Dictionaries with weak keys compared by identity, like `torch.utils.weak`: == of tensors is elementwise, so they cannot be ordinary keys."""

from __future__ import annotations

from collections.abc import MutableMapping
from weakref import ref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from undertow import Tensor

    _TensorRef = ref[Tensor]

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(ref["Any"]):
    """A weak reference that compares and hashes by the identity of its object."""

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Callable[[Any], Any] | None = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]  # typeshed has it in __new__
        self._id = id(key)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        a, b = self(), other() if isinstance(other, ref) else None
        return a is b if a is not None and b is not None else self is other


class WeakIdKeyDictionary(MutableMapping["Any", "Any"]):
    """A dictionary that compares keys by identity; an entry is removed when its key is freed.

    >>> import undertow as ut
    >>> x = ut.ones(2)
    >>> notes = WeakIdKeyDictionary({x: "first"})
    >>> notes[x], ut.ones(2) in notes
    ('first', False)
    >>> del x
    >>> len(notes)
    0
    """

    def __init__(self, dict: Mapping[Any, Any] | None = None, ref_type: type = WeakIdRef) -> None:
        self.data: Any = {}
        self.ref_type = ref_type
        own = ref(self)

        def remove(key: Any) -> None:
            this = own()
            if this is not None:
                this.data.pop(key, None)

        self._remove = remove
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._remove)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        return self.ref_type(key) in self.data

    def __iter__(self) -> Iterator[Any]:
        return (key for key in [r() for r in self.data] if key is not None)

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def keyrefs(self) -> list[Any]:
        """Return the weak references; their objects may no longer exist."""
        return list(self.data)

    def copy(self) -> WeakIdKeyDictionary:
        """Return a new dictionary with the same keys and values."""
        return type(self)(self, ref_type=self.ref_type)

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> WeakIdKeyDictionary:
        from copy import deepcopy

        new = type(self)(ref_type=self.ref_type)
        for key, value in self.items():
            new[key] = deepcopy(value, memo)
        return new

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WeakIdKeyDictionary):
            return NotImplemented
        return {id(k): v for k, v in self.items()} == {id(k): v for k, v in other.items()}

    __hash__ = None  # type: ignore[assignment]  # compared by value


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor; calling it returns the tensor or None."""

    ref: _TensorRef
    __slots__ = ("ref",)

    def __init__(self, tensor: Any) -> None:
        from undertow import Tensor

        if not isinstance(tensor, Tensor):
            raise AssertionError(f"expected a Tensor, got {type(tensor).__name__}")
        self.ref = ref(tensor)

    def __call__(self) -> Any:
        return self.ref()
