"""Who keeps graphs alive: the variables, attributes and entries of containers of the running program that hold a tensor or a node."""

from __future__ import annotations

from types import FunctionType, ModuleType

from undertow import _C
from undertow.autograd._diagnostics.saved_report import _readable as readable
from undertow.autograd._diagnostics.saved_report import saved_tensors_report
from undertow.inspect._tables import counted, short_path
from undertow.nn import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType
    from typing import Any

_DEEPEST = 4  # attributes and entries inside each other
_MOST_LOOKED_AT = 20_000  # objects
_MOST_NODES = 300_000  # of the graphs whose memory is counted
_MOST_ENTRIES = 1_000  # of one container
_SHOWN = 10
_MODULE_TABLES = frozenset({"._buffers", "._modules", "._parameters"})


class Holder:
    """Something that a person can name and that holds one or several graphs."""

    def __init__(self, name: str, where: str) -> None:
        self.name, self.where = name, where
        self.held: list[Any] = []
        self.nodes = self.bytes = 0

    def __str__(self) -> str:
        entries = f"{len(self.held)} entries of {self.name} ({self.where}) hold" if len(self.held) > 1 else f"{self.name} ({self.where}) holds"
        return f"{entries} a graph of {counted(self.nodes, 'node')}; without it {readable(self.bytes)} of saved tensors would be free."


def find_holders(frame: FrameType | None) -> list[Holder]:
    """Return who holds graphs that keep memory, the largest first: in the variables of a frame, of those that called it, and of their modules."""
    found: dict[tuple[str, str], Holder] = {}
    seen: set[int] = set()
    for where, name, value in _variables(frame):
        for path, held in _inside(name, value, seen):
            container = path.partition("[")[0]
            holder = found.setdefault((where, container), Holder(path, where))
            if holder.held:
                holder.name = container
            holder.held.append(held)
    walked = 0
    for holder in found.values():
        if walked < _MOST_NODES:
            report = saved_tensors_report(holder.held)  # together, so that what they share counts once
            holder.nodes, holder.bytes = report.nodes, report.exclusive_bytes
            walked += report.nodes
    return sorted((h for h in found.values() if h.bytes), key=lambda holder: -holder.bytes)[:_SHOWN]


def _variables(frame: FrameType | None) -> Iterator[tuple[str, str, Any]]:
    """Yield (where, name, value) of the local variables, innermost function first, and of the globals. Leaves out the package's own."""
    modules: dict[int, tuple[str, dict[str, Any]]] = {}
    while frame is not None:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package != "undertow":
            path = short_path(frame.f_code.co_filename)
            modules.setdefault(id(frame.f_globals), (path, frame.f_globals))
            if frame.f_code.co_name != "<module>":
                for name, value in list(frame.f_locals.items()):
                    yield f"in {frame.f_code.co_name}, {path}", name, value
        frame = frame.f_back
    for path, variables in modules.values():
        for name, value in list(variables.items()):
            yield f"in {path}", name, value


def _inside(name: str, value: Any, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Yield (path, tensor or node) for what has a graph in a value, at most some levels deep."""
    todo = [(name, value, 0)]
    while todo and len(seen) < _MOST_LOOKED_AT:
        path, value, depth = todo.pop()
        kind = type(value)  # not isinstance, which asks the object itself
        if id(value) in seen or issubclass(kind, (str, bytes, int, float, type, ModuleType, FunctionType)):
            continue
        seen.add(id(value))
        if issubclass(kind, _C.Tensor):
            if _C.Tensor.grad_fn.__get__(value) is not None:
                yield path, value
        elif issubclass(kind, _C._NodeBase):
            yield path, value
        elif depth < _DEEPEST:
            todo += [(path + step, inner, depth + 1) for step, inner in reversed(_parts(value))]


def _parts(value: Any) -> list[tuple[str, Any]]:
    """Return what is in a container or an object, with what leads there. Runs no code of the object."""
    kind = type(value)
    if kind is dict:
        return [(f"[{key!r}]" if isinstance(key, (str, int)) else "[...]", inner) for key, inner in list(value.items())[:_MOST_ENTRIES]]
    if kind in (list, tuple):
        return [(f"[{i}]", inner) for i, inner in enumerate(value[:_MOST_ENTRIES])]
    attributes = getattr(value, "__dict__", None) if kind.__getattribute__ is object.__getattribute__ else None
    if not isinstance(attributes, dict):
        return []
    own = [(f".{key}", inner) for key, inner in list(attributes.items())[:_MOST_ENTRIES] if isinstance(key, str)]
    if issubclass(kind, Module):  # its parts are found as attributes
        inner = {**attributes.get("_buffers", {}), **attributes.get("_modules", {})}
        return [(step, part) for step, part in own if step not in _MODULE_TABLES] + [(f".{key}", part) for key, part in inner.items()]
    return own
