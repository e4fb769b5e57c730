"""One hook for the gradients of several tensors in one backward pass."""

from __future__ import annotations

from _thread import allocate_lock

from undertow import _C
from undertow.autograd._node import _get_grad_fn_or_grad_acc
from undertow.autograd.variable import Variable
from undertow.utils.hooks import RemovableHandle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType
    from typing import Any, Literal

    from undertow import Tensor
    from undertow.autograd._node import Node


class _MultiHandle(RemovableHandle):
    """A handle that removes the hooks of several handles."""

    handles: tuple[RemovableHandle, ...]

    def __init__(self, handles: tuple[RemovableHandle, ...]) -> None:
        self.handles = handles

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> tuple[Any, ...]:
        return self.handles

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.handles = state

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.remove()


class _Pass:
    """The gradients that one backward pass has computed so far."""

    __slots__ = ("awaited", "grads")

    def __init__(self, nodes: list[Node]) -> None:
        self.grads: list[Tensor | None] = [None] * len(nodes)
        self.awaited = sum(_C._will_engine_execute_node(node) for node in nodes)


def _graph_task_id() -> int:
    task = _C._current_graph_task_id()
    if task == -1:
        raise AssertionError("register_multi_grad_hook: its hooks run only inside a backward call")
    return task


def _all_hooks(nodes: list[Node], fn: Callable[..., None]) -> list[Callable[[Tensor], None]]:
    """Return one hook per tensor; the last to run in a pass calls `fn` with all gradients.

    The first hook knows how many will follow: the engine reports which nodes this pass will run.
    """
    passes: dict[int, _Pass] = {}
    lock = allocate_lock()  # guards passes: passes run in several threads at once

    def arrive(index: int, grad: Tensor) -> None:
        task = _graph_task_id()
        with lock:
            state = passes.get(task)
            if state is None:
                # A pass that raised leaves an entry that will never be completed. Ids only increase, but an older pass may still be running
                # in another thread, so old entries are not dropped.
                state = passes[task] = _Pass(nodes)
            state.grads[index] = grad
            state.awaited -= 1
            if state.awaited:
                return
            del passes[task]
        fn(state.grads)

    def hook_for(index: int) -> Callable[[Tensor], None]:
        return lambda grad: arrive(index, grad)

    return [hook_for(index) for index in range(len(nodes))]


def _any_hook(fn: Callable[[Tensor], None]) -> Callable[[Tensor], None]:
    """Return a hook for all tensors; its first call in a pass calls `fn`."""
    seen: set[int] = set()
    lock = allocate_lock()  # guards seen: passes run in several threads at once

    def hook(grad: Tensor) -> None:
        task = _graph_task_id()
        with lock:
            if task in seen:
                return
            seen.add(task)
        Variable._execution_engine.queue_callback(lambda: seen.discard(task))
        fn(grad)

    return hook


def register_multi_grad_hook(
    tensors: Sequence[Tensor],
    fn: Callable[[Sequence[Tensor | None]], None] | Callable[[Tensor], None],
    *,
    mode: Literal["all", "any"] = "all",
) -> RemovableHandle:
    """Call `fn` when a backward pass has computed the gradients of `tensors`.

    In mode "all", it is called after the last of them, with a list of gradients in the order of `tensors` and
    None for tensors that the pass does not reach. In mode "any", it is called with the first gradient. The
    return value of `fn` is ignored.

    >>> import undertow as ut
    >>> a, b = ut.ones(2, requires_grad=True), ut.ones(2, requires_grad=True)
    >>> handle = ut.autograd.graph.register_multi_grad_hook((a, b), print)
    >>> (a * 2 + b * 3).sum().backward()
    [tensor([2., 2.]), tensor([3., 3.])]
    >>> handle.remove()
    """
    modes = ("all", "any")
    if mode not in modes:
        raise ValueError(f"Expects mode to be one of {modes} but got {mode}")
    tensors = tuple(tensors)
    if mode == "any":
        hooks: list[Callable[[Any], None]] = [_any_hook(fn)] * len(tensors)  # type: ignore[arg-type]  # takes one gradient in this mode
    else:
        hooks = _all_hooks([_get_grad_fn_or_grad_acc(t) for t in tensors], fn)
    pairs = zip(tensors, hooks, strict=True)
    return _MultiHandle(tuple(tensor.register_hook(hook) for tensor, hook in pairs))
