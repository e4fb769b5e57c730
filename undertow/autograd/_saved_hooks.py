"""Context managers that control how tensors are stored between the forward and the backward pass.

They use the core's stack of default pack and unpack hooks. The core handles the saved tensors themselves,
their version checks and the calls of the hooks.
"""

from __future__ import annotations

from _thread import _local

from undertow import _C
from undertow.utils._contextlib import _DecoratorContextManager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, MutableMapping
    from types import TracebackType
    from typing import Any

    from undertow import Tensor


class saved_tensors_hooks:
    """Context manager: pack each tensor that a node saves, and unpack it when the node needs it.

    `pack_hook(tensor)` may return any object; `unpack_hook` converts it back to a tensor equal to the
    original. Neither may change a tensor in place. Contexts can be nested: the innermost pair is used.

    >>> import undertow as ut
    >>> x = ut.ones(2, requires_grad=True)
    >>> packed = []
    >>> with ut.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
    ...     y = x.exp()
    >>> len(packed)
    1
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        _C._push_saved_tensors_default_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        _C._pop_saved_tensors_default_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Context manager: store saved tensors in host memory, and copy them back to their device when needed.

    `pin_memory` uses page-locked memory, so that the copy back overlaps with computation.

    >>> import undertow as ut
    >>> x = ut.ones(2, requires_grad=True)
    >>> with ut.autograd.graph.save_on_cpu():
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 2.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        self.device_type = device_type

        def pack(tensor: Tensor) -> tuple[Any, Tensor]:
            on_host = tensor.cpu()
            if pin_memory and tensor.device.type != "cpu":
                on_host = on_host.pin_memory()
            return tensor.device, on_host

        def unpack(packed: tuple[Any, Tensor]) -> Tensor:
            device, tensor = packed
            return tensor if tensor.device == device else tensor.to(device, non_blocking=pin_memory)

        super().__init__(pack, unpack)


class disable_saved_tensors_hooks(_DecoratorContextManager):
    """Context manager: entering `saved_tensors_hooks` raises a RuntimeError with `error_message`.

    For code that would be incorrect with packed tensors. Also a decorator.

    >>> import undertow as ut
    >>> with ut.autograd.graph.disable_saved_tensors_hooks("no packing here"):
    ...     with ut.autograd.graph.save_on_cpu():
    ...         pass
    Traceback (most recent call last):
    RuntimeError: no packing here
    """

    error_message: str
    prev: str | None
    __slots__ = ("error_message", "prev")

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message

    def __enter__(self) -> None:
        self.prev = _C._saved_tensors_hooks_get_disabled_error_message()
        try:
            _C._saved_tensors_hooks_disable(self.error_message)
        except BaseException:  # raises if hooks are already active
            self._restore()
            raise

    def _restore(self) -> None:
        if self.prev is None:
            _C._saved_tensors_hooks_enable()
        else:
            _C._saved_tensors_hooks_disable(self.prev)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._restore()

    def clone(self) -> disable_saved_tensors_hooks:
        """Return a context manager with the same message."""
        return type(self)(self.error_message)


class _Handle:
    """The object that a node saves instead of a tensor under `allow_mutation_on_saved_tensors`."""

    __slots__ = ("__weakref__",)


class _AllowMutationOnSavedContext:
    """The copies made in one `allow_mutation_on_saved_tensors` context; each is freed with its node."""

    def __init__(self) -> None:
        from weakref import WeakKeyDictionary

        self.copies: MutableMapping[_Handle, Tensor] = WeakKeyDictionary()

    def clear(self) -> None:
        """Drop every copy; graphs recorded so far can no longer run backward."""
        self.copies.clear()

    def pack(self, tensor: Tensor) -> _Handle:
        handle = _Handle()
        self.copies[handle] = tensor.detach().clone()
        return handle

    def unpack(self, handle: _Handle) -> Tensor:
        copy = self.copies.get(handle)
        if copy is None:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context "
                "in which the graph was originally recorded: its saved tensors were dropped; call "
                "backward() inside the context, before its clear()"
            )
        return copy


_mutation = _local()  # .active: contexts are per thread, like the hook stack


class allow_mutation_on_saved_tensors:
    """Context manager: tensors may be changed in place after a node has saved them.

    Each tensor is copied when it is saved; the copies use memory until their nodes are freed. Backward
    must run inside the context. Contexts cannot be nested.

    >>> import undertow as ut
    >>> with ut.autograd.graph.allow_mutation_on_saved_tensors():
    ...     x = ut.ones(2, requires_grad=True)
    ...     y = x.clone()
    ...     out = (y * y).sum()
    ...     _ = y.zero_()
    ...     out.backward()
    >>> x.grad
    tensor([2., 2.])
    """

    context: _AllowMutationOnSavedContext
    hooks: saved_tensors_hooks

    def __enter__(self) -> _AllowMutationOnSavedContext:
        if getattr(_mutation, "active", False):
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        self.context = _AllowMutationOnSavedContext()
        self.hooks = saved_tensors_hooks(self.context.pack, self.context.unpack)
        self.hooks.__enter__()
        _mutation.active = True
        return self.context

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _mutation.active = False
        self.hooks.__exit__(kind, error, trace)
        self.context.clear()
