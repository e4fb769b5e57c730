"""Track which modules are running: in the forward pass, and in the backward pass with hooks on their inputs and outputs."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import undertow
from undertow import _C
from undertow.autograd.graph import register_multi_grad_hook
from undertow.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from undertow.utils._pytree import tree_iter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow.nn.modules.module import Module

__all__ = ["ModuleTracker"]


def _requiring_grad(values: Any) -> list[undertow.Tensor]:
    if not undertow.is_grad_enabled():
        return []
    return [t for t in tree_iter(values) if isinstance(t, undertow.Tensor) and t.requires_grad]


class ModuleNames:
    """Assigns a name to each module: the class name for the outermost module, and paths for the modules inside it."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Module, str] = WeakKeyDictionary()

    def __getitem__(self, module: Module) -> str:
        if module not in self._known:
            root = type(module).__name__
            for path, inner in module.named_modules():
                self._known[inner] = f"{root}.{path}" if path else root
        return self._known[module]


class ModuleTracker:
    """Context manager: `parents` has the names of the modules that are running, in the forward and in the backward pass.

    >>> import undertow as ut
    >>> class Watched(ut.nn.Module):
    ...     def forward(self, x):
    ...         print(sorted(tracker.parents))
    ...         return x
    >>> with ModuleTracker() as tracker:
    ...     _ = ut.nn.Sequential(Watched())(ut.ones(1))
    ['Global', 'Sequential', 'Sequential.0']
    """

    def __init__(self) -> None:
        self.parents: set[str] = {"Global"}
        self._names = ModuleNames()
        self._ends_with_pass = False

    @property
    def is_bw(self) -> bool:
        """Whether a backward pass is running."""
        return _C._current_graph_task_id() != -1

    def _when_all_are_there(self, tensors: list[undertow.Tensor], act: Any, name: str) -> None:
        if tensors:
            register_multi_grad_hook(tensors, lambda grads: act(name))

    def _enter(self, module: Module, args: Any) -> None:
        name = self._names[module]
        self.parents.add(name)
        self._when_all_are_there(_requiring_grad(args), self.parents.discard, name)

    def _leave(self, module: Module, args: Any, output: Any) -> None:
        name = self._names[module]
        self.parents.discard(name)
        self._when_all_are_there(_requiring_grad(output), self._enter_backward, name)

    def _enter_backward(self, name: str) -> None:
        if not self._ends_with_pass:  # if no input of a module requires grad, nothing marks the end of its backward
            self._ends_with_pass = True
            undertow.autograd.Variable._execution_engine.queue_callback(self._end_of_pass)
        self.parents.add(name)

    def _end_of_pass(self) -> None:
        self._ends_with_pass = False
        self.parents.clear()
        self.parents.add("Global")

    def __enter__(self) -> ModuleTracker:
        self.parents = {"Global"}
        self._handles = (register_module_forward_pre_hook(self._enter), register_module_forward_hook(self._leave, always_call=True))
        return self

    def __exit__(self, *exception: object) -> None:
        for handle in self._handles:
            handle.remove()
