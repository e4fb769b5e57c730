"""`LazyModuleMixin`: modules that find out their sizes from the first input they see, and are then ordinary modules."""

from __future__ import annotations

from undertow.nn.parameter import is_lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """Stands before the module's class among the bases: `class LazyLinear(LazyModuleMixin, Linear)`.

    The module makes `UninitializedParameter`s and defines `initialize_parameters`, which gets the arguments of the first
    call. After it the module becomes `cls_to_become`, if that is given.

    >>> import undertow as ut
    >>> layer = ut.nn.LazyLinear(3)
    >>> layer.has_uninitialized_params()
    True
    >>> layer(ut.ones(2, 5)).shape, layer
    (undertow.Size([2, 3]), Linear(in_features=5, out_features=3, bias=True))
    """

    cls_to_become: type[Any] | None = None
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        module: Any = self
        self._load_hook = module._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = module.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        """As any module, but what has no shape goes in as it is: it cannot be detached."""
        hidden = self._non_persistent_buffers_set  # type: ignore[attr-defined]
        for name, value in (*self._parameters.items(), *self._buffers.items()):
            if value is not None and name not in hidden:
                destination[prefix + name] = value if keep_vars or is_lazy(value) else value.detach()

    def _lazy_load_hook(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Takes the shapes of what is about to be loaded."""
        import undertow

        for name, mine in (*self._parameters.items(), *self._buffers.items()):
            given = state_dict.get(prefix + name)
            if mine is not None and given is not None and is_lazy(mine) and not is_lazy(given):
                with undertow.no_grad():
                    mine.materialize(given.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Materializes the parameters, from the arguments of the first call; every lazy module says how."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer still waits for its shape."""
        return any(is_lazy(t) for t in (*self._parameters.values(), *self._buffers.values()))

    def _infer_parameters(self, module: Any, args: Any, kwargs: Any = None) -> None:
        """The hook before the first call: sizes from its arguments, after which the module is lazy no more."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {type(self).__name__} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become
