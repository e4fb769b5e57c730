"""The modules that run while a recording is on: which one made each node, and the names of the parameters."""

from __future__ import annotations

import threading
from weakref import WeakKeyDictionary

from undertow import _C
from undertow.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from undertow import Tensor
    from undertow.nn.modules.module import Module


class ModuleRows:
    """Numbers the modules that run, and tells the core which one is running on this thread.

    A module that runs inside no other is outermost. Its submodules are named by their paths in it. If only one outermost module has
    parameters, its path is empty; another one's path starts with its class.
    """

    def __init__(self) -> None:
        self._numbers: WeakKeyDictionary[Module, int] = WeakKeyDictionary()
        self._rows: list[tuple[str, str, int]] = []  # path in its outermost module, class, number of the outermost
        self._outermost: list[tuple[int, Module]] = []  # kept alive: parameters are named when the recording ends
        self._local = threading.local()

    def __enter__(self) -> ModuleRows:
        self._handles = (register_module_forward_pre_hook(self._enter), register_module_forward_hook(self._leave, always_call=True))
        return self

    def __exit__(self, *exception: object) -> None:
        for handle in self._handles:
            handle.remove()

    def add(self, module: Module) -> int:
        """Number a module and everything in it as an outermost module."""
        first = len(self._rows)
        self._outermost.append((first, module))
        for path, inner in module.named_modules():
            if inner not in self._numbers:
                self._numbers[inner] = len(self._rows)
                self._rows.append((path, type(inner).__name__, first))
        return self._numbers[module]

    def _number(self, module: Module) -> int:
        found = self._numbers.get(module)
        return self.add(module) if found is None else found

    def _stack(self) -> list[int]:
        stack = getattr(self._local, "stack", None)
        if stack is None:
            stack = self._local.stack = []
        return stack

    def _enter(self, module: Module, args: Any) -> None:
        self._stack().append(_C._trace_module(self._number(module)))

    def _leave(self, module: Module, args: Any, output: Any) -> None:
        stack = self._stack()
        if stack:
            _C._trace_module(stack.pop())

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

    def paths(self) -> list[str]:
        """Return the full path of each module, by number."""
        prefixes = self._prefixes()
        return [".".join(part for part in (prefixes[outer], path) if part) for path, _, outer in self._rows]

    def table(self, number: Callable[[str | None], int]) -> tuple[dict[str, list[int]], dict[int, int]]:
        """Return the table of modules, and its row for each of our numbers. Row 0 is the root, with an empty path."""
        rows: dict[str, int] = {"": 0}
        classes = [""]
        of: dict[int, int] = {}
        for i, path in enumerate(self.paths()):
            parts = path.split(".") if path else []
            for k in range(1, len(parts) + 1):
                if ".".join(parts[:k]) not in rows:
                    rows[".".join(parts[:k])] = len(rows)
                    classes.append("")
            of[i] = rows[path]
            classes[of[i]] = self._rows[i][1]
        parents = [rows[path.rpartition(".")[0]] if path else -1 for path in rows]
        return {"path_s": [number(path) for path in rows], "class_s": [number(c) for c in classes], "parent": parents}, of

    def parameters(self) -> Iterator[tuple[str, int, Tensor]]:
        """Yield (name, number of its module, parameter) for every parameter of the modules, each once."""
        prefixes = self._prefixes()
        seen: set[int] = set()
        for outer, module in self._outermost:
            for path, inner in module.named_modules():
                for name, parameter in inner.named_parameters(recurse=False):
                    if id(parameter) not in seen:
                        seen.add(id(parameter))
                        yield ".".join(part for part in (prefixes[outer], path, name) if part), self._numbers[inner], parameter

    def leaf_names(self) -> dict[int, str]:
        """Return the names of the parameters by the core's number of the tensor."""
        return {_C._tensor_number(parameter): name for name, _, parameter in self.parameters()}
