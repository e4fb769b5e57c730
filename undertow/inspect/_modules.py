"""The modules that run while a recording is on: which one made each node, and the names of the parameters."""

from __future__ import annotations

import threading
from array import array
from weakref import WeakKeyDictionary

from undertow import _C
from undertow.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from undertow import Tensor
    from undertow.nn.modules.module import Module

MOST_CALLS = 4_000_000  # of modules in one recording; later ones have no module


def _joined(*parts: str) -> str:
    return ".".join(part for part in parts if part)


class _Calls:
    """The calls of modules while any recording runs. Tells the core which one is running on this thread, once for all recordings."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # guards all members; reentrant, because a new module is numbered while it is entered
        self._recordings: list[ModuleRows] = []
        self._numbers: WeakKeyDictionary[Module, int] = WeakKeyDictionary()
        self._count = 0  # modules numbered
        self._local = threading.local()
        self.first = 0  # number of the first call in the two columns; smaller numbers are of earlier recordings
        self.module, self.parent = array("q"), array("q")

    def begin(self, recording: ModuleRows) -> None:
        """Add a recording."""
        with self._lock:
            self._recordings.append(recording)
            if len(self._recordings) == 1:
                self._handles = (register_module_forward_pre_hook(self._enter), register_module_forward_hook(self._leave, always_call=True))

    def end(self, recording: ModuleRows) -> None:
        """Remove a recording, which keeps the columns; the next first one gets new columns."""
        with self._lock:
            self._recordings.remove(recording)
            if not self._recordings:
                for handle in self._handles:
                    handle.remove()
                self.first += len(self.module)
                if self.first > 1 << 30:  # the core keeps 32 bits
                    self.first = 0
                self.module, self.parent = array("q"), array("q")

    def number(self, module: Module) -> int:
        """Return the number of a module; the same in all recordings."""
        with self._lock:
            found = self._numbers.get(module)
            if found is None:
                found = self._numbers[module] = self._count
                self._count += 1
            return found

    def _stack(self) -> list[int]:
        stack = getattr(self._local, "stack", None)
        if stack is None:
            stack = self._local.stack = []
        return stack

    def _enter(self, module: Module, args: Any) -> None:
        with self._lock:
            number = self.number(module)
            for recording in self._recordings:
                recording.saw(number, module)
            call = self.first + len(self.module) if len(self.module) < MOST_CALLS else -1
            before = _C._trace_module(call)
            if call >= 0:
                self.module.append(number)
                self.parent.append(before)
        self._stack().append(before)

    def _leave(self, module: Module, args: Any, output: Any) -> None:
        stack = self._stack()
        if stack:
            _C._trace_module(stack.pop())


_calls = _Calls()


class ModuleRows:
    """The modules that run during one recording, by number, and their calls.

    A module that runs inside no other is outermost. Its submodules are named by their paths in it. If only one outermost module has
    parameters, its path is empty; another one's path starts with its class.
    """

    def __init__(self) -> None:
        self._rows: dict[int, tuple[str, str, int]] = {}  # path in its outermost module, class, number of the outermost
        self._outermost: list[tuple[int, Module]] = []  # kept alive: parameters are named when the recording ends

    def __enter__(self) -> ModuleRows:
        _calls.begin(self)
        self._first, self._module, self._parent = _calls.first, _calls.module, _calls.parent
        return self

    def __exit__(self, *exception: object) -> None:
        _calls.end(self)

    def add(self, module: Module) -> None:
        """Number a module and everything in it as an outermost module."""
        first = _calls.number(module)
        self._outermost.append((first, module))
        for path, inner in module.named_modules():
            self._rows.setdefault(_calls.number(inner), (path, type(inner).__name__, first))

    def saw(self, number: int, module: Module) -> None:
        """Add a module that runs, unless it is known."""
        if number not in self._rows:
            self.add(module)

    def of_call(self, call: int) -> int:
        """Return the number of the module of a call; -1 if unknown."""
        at = call - self._first
        return self._module[at] if 0 <= at < len(self._module) else -1

    def path(self, call: int) -> str | None:
        """Return the path of the module of a call; None if unknown."""
        number = self.of_call(call)
        if number not in self._rows:
            return None
        path, _, outer = self._rows[number]
        return _joined(self._prefixes()[outer], path)

    def _prefixes(self) -> dict[int, str]:
        """Return what the paths of each outermost module start with."""
        with_parameters = [number for number, module in self._outermost if any(True for _ in module.parameters())]
        main = with_parameters[0] if len(with_parameters) == 1 else None
        used: set[str] = set()
        prefixes = {}
        for number, module in self._outermost:
            name = type(module).__name__
            if number != main:
                count = 1
                while name in used:
                    count += 1
                    name = f"{type(module).__name__}_{count}"
                used.add(name)
            prefixes[number] = "" if number == main else name
        return prefixes

    def table(self, number: Callable[[str | None], int]) -> tuple[dict[str, list[int]], dict[int, int]]:
        """Return the table of modules, and its row for each of our numbers. Row 0 is the root, with an empty path."""
        prefixes = self._prefixes()
        rows: dict[str, int] = {"": 0}
        classes = [""]
        of: dict[int, int] = {}
        for module, (inner, kind, outer) in self._rows.items():
            path = _joined(prefixes[outer], inner)
            parts = path.split(".") if path else []
            for k in range(1, len(parts) + 1):
                if ".".join(parts[:k]) not in rows:
                    rows[".".join(parts[:k])] = len(rows)
                    classes.append("")
            of[module] = rows[path]
            classes[of[module]] = kind
        parents = [rows[path.rpartition(".")[0]] if path else -1 for path in rows]
        return {"path_s": [number(path) for path in rows], "class_s": [number(c) for c in classes], "parent": parents}, of

    def call_table(self, calls: set[int], rows: dict[int, int]) -> tuple[dict[str, list[int]], dict[int, int]]:
        """Return the table of the given calls and those around them, in order, and its row for each call. `rows` are those of the modules."""
        used: set[int] = set()
        for call in calls:
            while call not in used and self.of_call(call) in rows:
                used.add(call)
                call = self._parent[call - self._first]
        of = {call: row for row, call in enumerate(sorted(used))}
        around = [of.get(self._parent[call - self._first], -1) for call in of]
        return {"module": [rows[self.of_call(call)] for call in of], "parent": around}, of

    def parameters(self) -> Iterator[tuple[str, int, Tensor]]:
        """Yield (name, number of its module, parameter) for every parameter of the modules, each once."""
        prefixes = self._prefixes()
        seen: set[int] = set()
        for outer, module in self._outermost:
            for path, inner in module.named_modules():
                for name, parameter in inner.named_parameters(recurse=False):
                    if id(parameter) not in seen:
                        seen.add(id(parameter))
                        yield _joined(prefixes[outer], path, name), _calls.number(inner), parameter

    def leaf_names(self) -> dict[int, str]:
        """Return the names of the parameters by the core's number of the tensor."""
        return {_C._tensor_number(parameter): name for name, _, parameter in self.parameters()}
