"""`Restoration`: the values of one checkpoint on their way to objects, now or when the objects are created.

It matches nodes of the saved graph with objects, by the names on the way from the root. A new attribute of a checkpoint, a new parameter,
buffer or child of a module, and a new slot are noticed when they are created; new elements of lists and dicts at the next assertion.
"""

from __future__ import annotations

import logging
import sys
import weakref

from undertow._C import Tensor
from undertow.train._objects import children, graph_of, reachable
from undertow.train._state import StateHolder, fits, put

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow.train._files import CheckpointReader

_waiting: weakref.WeakSet[Restoration] = weakref.WeakSet()  # those with values left
_handles: list[Any] = []  # of the hooks that watch modules, while something waits


class Restoration:
    """See the module. `root` is the checkpoint that restores."""

    def __init__(self, reader: CheckpointReader, root: Any) -> None:
        self.prefix: str = reader.prefix
        self._nodes, self._keys, self._slot_keys = graph_of(reader.about, reader.prefix)
        self._values = reader.get_tensors([*self._keys.values(), *self._slot_keys.values()])
        self._objects: dict[int, Any] = {}  # by node
        self._numbers: dict[int, int] = {}  # nodes by the id of their object, which `_objects` keeps alive
        self._root = weakref.ref(root)
        self.quiet: bool = True
        self._match(root, 0)
        self.quiet = False
        if self._values:
            _waiting.add(self)
            _watch_modules()

    def _match(self, obj: Any, node: int) -> None:
        """Match an object and all it depends on, and restore them; everything is checked before the first value changes."""
        matched = self._walk(obj, node)
        tensors = [(t, self._values[self._keys[n]]) for t, n in matched if isinstance(t, Tensor) and self._keys.get(n) in self._values]
        for t, value in tensors:
            fits(t, value, f"restore from {self.prefix}")
        for holder, n in matched:
            if isinstance(holder, StateHolder):
                others = [var for _, var, _ in holder._all_slots() if id(var) not in self._numbers]
                holder._restore_from(_HolderSource(self, n), others)
        for t, value in tensors:
            put(t, value)
        for t, n in matched:
            if isinstance(t, Tensor):
                self._values.pop(self._keys.get(n, ""), None)
                self._late_slots(t, n)
        if not self._values:
            _waiting.discard(self)

    def _walk(self, obj: Any, node: int) -> list[tuple[Any, int]]:
        """Return the objects that are newly matched, with their nodes."""
        found = []
        stack = [(obj, node)]
        while stack:
            obj, node = stack.pop()
            known = self._numbers.get(id(obj))
            if known is None:
                if node in self._objects:
                    raise ValueError(f"{self.prefix}: two objects are at the place of one in the checkpoint, {self._where(node)}")
                if isinstance(obj, Tensor) != (node in self._keys):
                    raise ValueError(f"{self.prefix}: {self._where(node)} is {'no' if isinstance(obj, Tensor) else 'a'} variable in the checkpoint")
                self._objects[node], self._numbers[id(obj)] = obj, node
                found.append((obj, node))
            elif known != node:
                raise ValueError(f"{self.prefix}: one object is at the places of two in the checkpoint, {self._where(known)} and {self._where(node)}")
            else:
                continue
            if not isinstance(obj, StateHolder):  # a holder asks for its own state
                saved = self._nodes[node]
                stack += [(child, saved[name]) for name, child in children(obj).items() if name in saved]
        return found

    def _where(self, node: int) -> str:
        return self._keys.get(node) or next((name for c in self._nodes for name, n in c.items() if n == node), "the root")

    def _late_slots(self, var: Tensor, node: int) -> None:
        """Restore slots that exist already, of a variable that was matched only now."""
        for (holder_node, var_node, slot_name), key in self._slot_keys.items():
            holder = self._objects.get(holder_node)
            if var_node != node or holder is None:
                continue
            slot = holder._slots.get(slot_name, {}).get(var)
            if slot is not None and key in self._values:
                fits(slot, self._values[key], f"restore from {self.prefix}")
                put(slot, self._values.pop(key))

    def created(self, parent: Any, name: str, child: Any) -> None:
        """Restore a new child of an object, if the checkpoint has it and has not restored another one in its place."""
        node = self._numbers.get(id(parent))
        of_child = None if node is None else self._nodes[node].get(name)
        if of_child is not None and of_child not in self._objects:
            self._match(child, of_child)

    def refresh(self) -> None:
        """Match what was added to lists and dicts."""
        for obj in list(self._objects.values()):
            if isinstance(obj, (list, tuple, dict)):
                for name, child in children(obj).items():
                    if id(child) not in self._numbers:
                        self.created(obj, name, child)

    def slot(self, holder_node: int, var: Tensor, slot_name: str) -> Tensor | None:
        key = self._slot_keys.get((holder_node, self._numbers.get(id(var), -1), slot_name))
        return None if key is None else self._taken(key)

    def non_slot(self, holder_node: int, name: str) -> Tensor | None:
        node = self._nodes[holder_node].get(name)
        return None if node is None or node not in self._keys else self._taken(self._keys[node])

    def _taken(self, key: str) -> Tensor | None:
        value = self._values.pop(key, None)
        if not self._values:
            _waiting.discard(self)
        return value

    def waits_for(self, holder_node: int) -> bool:
        """Return True if values are left for a holder."""
        slots = (key for (holder, _, _), key in self._slot_keys.items() if holder == holder_node)
        return any(key in self._values for key in (*slots, *(self._keys.get(n) for n in self._nodes[holder_node].values())))

    def unused(self) -> list[str]:
        """Return the keys of values that no object has taken."""
        return list(self._values)

    def unmatched(self) -> list[str]:
        """Return the paths of variables and holders of the program that the checkpoint does not have."""
        root = self._root()
        owned = {id(v) for _, h in reachable(root) if isinstance(h, StateHolder) for v in h._non_slots.values()}
        return [p for p, o in reachable(root) if isinstance(o, (Tensor, StateHolder)) and id(o) not in self._numbers and id(o) not in owned]

    def __del__(self) -> None:
        if not sys.is_finalizing() and not getattr(self, "quiet", True) and self._values:
            logging.getLogger("undertow.train").warning(
                "%s: %d values in the checkpoint were never used, such as %s. If that is intended, call expect_partial() on what restore returns",
                self.prefix, len(self._values), next(iter(self._values)),
            )


class _HolderSource:
    """The state of one holder in a checkpoint."""

    def __init__(self, restoration: Restoration, node: int) -> None:
        self._restoration, self._node = restoration, node

    def slot(self, holder: StateHolder, var: Tensor, slot_name: str, name: str) -> Tensor | None:
        return self._restoration.slot(self._node, var, slot_name)

    def non_slot(self, holder: StateHolder, name: str) -> Tensor | None:
        return self._restoration.non_slot(self._node, name)

    def is_empty(self) -> bool:
        return not self._restoration.waits_for(self._node)

    def __reduce__(self) -> Any:
        raise TypeError(f"this object waits for values of {self._restoration.prefix} and cannot be copied; copy it after its first step")


def _watch_modules() -> None:
    """Be told of new parameters, buffers and children of modules, as long as a restoration waits for values."""
    from undertow.nn.modules import _hooks

    if _handles:
        return

    def told(module: Any, name: str, child: Any) -> None:
        for restoration in list(_waiting):
            if child is not None:
                restoration.created(module, name, child)
        if not _waiting:
            while _handles:
                _handles.pop().remove()

    _handles.extend(
        register(told)
        for register in (
            _hooks.register_module_parameter_registration_hook,
            _hooks.register_module_buffer_registration_hook,
            _hooks.register_module_module_registration_hook,
        )
    )
