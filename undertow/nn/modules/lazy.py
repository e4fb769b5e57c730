"""Layers that learn the size of their input from the first one they see."""

from __future__ import annotations

from itertools import chain

from undertow.nn.parameter import is_lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """Put before a layer's class: parameters that wait for their shape get it in `initialize_parameters`, before the first forward.

    The module then becomes a plain `cls_to_become`. A state dict gives shapes, too.
    """

    cls_to_become: type | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(LazyModuleMixin._lazy_load_hook, with_module=True)
        self._initialize_hook = self.register_forward_pre_hook(LazyModuleMixin._infer_parameters, with_kwargs=True)

    def _waiting(self) -> list[Any]:
        return [t for t in chain(self._parameters.values(), self._buffers.values()) if is_lazy(t)]

    def has_uninitialized_params(self) -> bool:
        """Does a parameter or buffer still wait for its shape?"""
        return bool(self._waiting())

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Gives parameters their shapes, from the arguments of the first forward."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        for name, t in chain(self._parameters.items(), self._buffers.items()):
            if is_lazy(t) and prefix + name in destination:
                destination[prefix + name] = t  # with its mark, which detach() would lose

    def _lazy_load_hook(self, state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
        for name, t in chain(self._parameters.items(), self._buffers.items()):
            given = state_dict.get(prefix + name)
            if is_lazy(t) and given is not None and not is_lazy(given):
                t.materialize(given.shape)

    def _infer_parameters(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> None:
        self.initialize_parameters(*args, **(kwargs or {}))
        if self.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        self._initialize_hook.remove()
        self._load_hook.remove()
        del self._initialize_hook, self._load_hook
        if self.cls_to_become is not None:
            self.__class__ = self.cls_to_become
