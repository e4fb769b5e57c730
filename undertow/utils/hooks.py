"""Handles that remove registered hooks.

A handle has only a weak reference to the dictionary of hooks, so it never keeps a tensor or node alive. Code
that calls the hooks must iterate over a copy: a hook may remove itself or others.
"""

from __future__ import annotations

from _thread import allocate_lock
from _weakref import ref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType
    from typing import Any

_id_lock = allocate_lock()  # guards RemovableHandle.next_id: hooks are registered from any thread


class HookDict(dict["int", "Any"]):
    """A dictionary from handle id to hook, in order of registration, that can be weakly referenced.

    >>> from undertow.utils.hooks import HookDict, RemovableHandle
    >>> hooks = HookDict()
    >>> handle = RemovableHandle(hooks)
    >>> hooks[handle.id] = print
    >>> handle.remove()
    >>> hooks
    {}
    """

    __slots__ = ("__weakref__",)


class RemovableHandle:
    """Removes one hook; can be called repeatedly, and works as a context manager.

    `hooks_dict` is a weakly referenceable dictionary in which the caller stores the hook under
    `handle.id`; the same id is removed from `extra_dict`, one dictionary or several.

    >>> import undertow as ut
    >>> x = ut.ones(2, requires_grad=True)
    >>> with x.register_hook(lambda grad: grad * 10):
    ...     x.sum().backward()
    >>> x.sum().backward()
    >>> x.grad
    tensor([11., 11.])
    """

    id: int
    hooks_dict_ref: ref[Any]
    extra_dict_ref: tuple[ref[Any], ...]
    next_id: int = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.hooks_dict_ref = ref(hooks_dict)
        self.extra_dict_ref = tuple(ref(each) for each in _as_dicts(extra_dict))
        with _id_lock:
            self.id = RemovableHandle.next_id
            RemovableHandle.next_id += 1

    def remove(self) -> None:
        """Remove the hook; do nothing if it or its owner no longer exists."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self) -> tuple[Any, ...]:
        return self.hooks_dict_ref(), self.id, tuple(each() for each in self.extra_dict_ref)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        hooks, self.id = state[:2]
        # A dictionary that was freed before pickling is replaced by an empty one that is freed at once.
        self.hooks_dict_ref = ref(HookDict() if hooks is None else hooks)
        extra = state[2] if len(state) > 2 else ()
        self.extra_dict_ref = tuple(ref(HookDict() if each is None else each) for each in extra)
        with _id_lock:
            RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.remove()


def _as_dicts(extra: Any) -> Iterable[Any]:
    if extra is None:
        return ()
    return (extra,) if isinstance(extra, dict) else tuple(extra)


def unserializable_hook(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a hook that may be dropped without a warning when a tensor is pickled.

    >>> from undertow.utils.hooks import unserializable_hook
    >>> @unserializable_hook
    ... def log(grad):
    ...     print(grad)
    """
    fn.__undertow_unserializable__ = True  # type: ignore[attr-defined]  # pickling looks for it
    return fn


def warn_if_has_hooks(tensor: Any) -> None:
    """Warn about each hook on `tensor` that will not be pickled, unless it is marked with `unserializable_hook`.

    >>> import undertow as ut
    >>> from undertow.utils.hooks import warn_if_has_hooks
    >>> warn_if_has_hooks(ut.ones(2))
    """
    for hook in list((getattr(tensor, "_backward_hooks", None) or {}).values()):
        if not hasattr(hook, "__undertow_unserializable__"):
            import warnings

            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized: decorate the function "
                "with undertow.utils.hooks.unserializable_hook if that is intended",
                stacklevel=3,
            )
