"""The objects a checkpoint reaches from its root by attribute names, and the same as a graph in a file.

An object is a tensor, a state holder (optimizer, moving average), a module, a list, a dict, or a checkpoint. Does not restore anything.
"""

from __future__ import annotations

from undertow._C import Tensor
from undertow.train._state import StateHolder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
SLOT = "/.OPTIMIZER_SLOT/"


def _module_class() -> type:
    from undertow.nn import Module

    return Module


def is_trackable(obj: Any) -> bool:
    """Return True if a checkpoint can save this object."""
    return isinstance(obj, (Tensor, StateHolder, list, tuple, dict)) or hasattr(obj, "_checkpoint_children") or isinstance(obj, _module_class())


def check_trackable(name: str, obj: Any) -> None:
    """Raise unless a checkpoint can save this object."""
    if not is_trackable(obj):
        raise ValueError(
            f"`Checkpoint` was expecting {name} to be a trackable object (a variable or tensor, an optimizer or moving average of undertow.train, an "
            f"nn.Module, a Checkpoint, or a list or dict of them), got {type(obj).__name__}: {obj!r:.100}"
        )


def children(obj: Any) -> dict[str, Any]:
    """Return the objects that this one depends on, by name. State that a holder keeps for variables is not among them."""
    if isinstance(obj, Tensor):
        return {}
    if isinstance(obj, StateHolder):
        return dict(obj._non_slots)
    if isinstance(obj, (list, tuple)):
        return _checked({str(i): item for i, item in enumerate(obj)})
    if isinstance(obj, dict):
        for key in obj:
            if not isinstance(key, str):
                raise ValueError(f"`Checkpoint` needs strings as keys of a dict, got {key!r}")
        return _checked(dict(obj))
    if hasattr(obj, "_checkpoint_children"):
        return obj._checkpoint_children()
    buffers = {name: b for name, b in obj._buffers.items() if name not in obj._non_persistent_buffers_set}
    found = {**obj._parameters, **buffers, **obj._modules}
    return {name: item for name, item in found.items() if item is not None}


def _checked(found: dict[str, Any]) -> dict[str, Any]:
    for name, item in found.items():
        check_trackable(f"element {name!r}", item)
    return found


def _escaped(name: str) -> str:
    return name.replace(".", "..").replace("/", ".S")


def reachable(root: Any) -> list[tuple[str, Any]]:
    """Return the paths and objects from the root, nearest first; an object has one path, the first."""
    seen = {id(root)}
    found = [("", root)]
    for path, obj in found:  # grows while it is walked
        for name, child in children(obj).items():
            if id(child) not in seen:
                seen.add(id(child))
                found.append((f"{path}/{_escaped(name)}" if path else _escaped(name), child))
    return found


def serialized(root: Any) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the values by key, and the graph of objects as plain data."""
    found = reachable(root)
    numbers = {id(obj): i for i, (_, obj) in enumerate(found)}
    values: dict[str, Tensor] = {}
    nodes: list[dict[str, Any]] = []
    slots: list[list[Any]] = []
    for path, obj in found:
        node: dict[str, Any] = {"children": {name: numbers[id(child)] for name, child in children(obj).items()}}
        if isinstance(obj, Tensor):
            node["key"] = path + VALUE
            values[path + VALUE] = obj
        nodes.append(node)
        if isinstance(obj, StateHolder):
            for slot_name, var, slot in obj._all_slots():
                if id(var) in numbers:  # the state of a variable is saved with the variable
                    key = f"{found[numbers[id(var)]][0]}{SLOT}{path}/{_escaped(slot_name)}{VALUE}"
                    slots.append([numbers[id(obj)], numbers[id(var)], slot_name, key])
                    values[key] = slot
    return values, {"kind": "objects", "nodes": nodes, "slots": slots}


def graph_of(about: dict[str, Any], prefix: str) -> tuple[list[dict[str, int]], dict[int, str], dict[tuple[int, int, str], str]]:
    """Return the checked graph of a file: the children of each node, the keys of values, the keys of slots."""
    nodes, slots = about.get("nodes"), about.get("slots")
    if about.get("kind") != "objects" or not isinstance(nodes, list) or not isinstance(slots, list):
        raise ValueError(f"{prefix} has no graph of objects: it was not written by train.Checkpoint; train.Saver restores its own files by name")
    try:
        found: list[dict[str, int]] = [dict(node["children"]) for node in nodes]
        keys = {i: str(node["key"]) for i, node in enumerate(nodes) if "key" in node}
        of_slots = {(holder, var, str(slot_name)): str(key) for holder, var, slot_name, key in slots}
        numbers = [n for node in found for n in node.values()] + [n for holder, var, _ in of_slots for n in (holder, var)]
        wrong = [n for n in numbers if type(n) is not int or not 0 <= n < len(found)]
    except (TypeError, KeyError, ValueError) as error:
        raise ValueError(f"{prefix}: its graph of objects is corrupt: {error}") from error
    if wrong or not found:
        raise ValueError(f"{prefix}: its graph of objects is corrupt: there is no node {wrong[:1]}")
    return found, keys, of_slots
