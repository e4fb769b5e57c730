"""`LazyModuleMixin`: modules that infer their sizes from the first input, and then become ordinary modules."""

from __future__ import annotations

from undertow.nn.parameter import is_lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """Mixin of lazy modules; it comes before the module's class in the list of bases: `class LazyLinear(LazyModuleMixin, Linear)`.

    The module creates `UninitializedParameter`s and defines `initialize_parameters`, which gets the arguments of the first
    call. After that the module becomes an instance of `cls_to_become`, if it is set.

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
    _non_persistent_buffers_set: set[str]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        module: Any = self
        self._load_hook = module._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = module.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        """Save like any module, but store uninitialized parameters directly: they cannot be detached."""
        hidden = self._non_persistent_buffers_set
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
        """Materialize uninitialized parameters with the shapes of the entries to be loaded."""
        import undertow

        for name, mine in (*self._parameters.items(), *self._buffers.items()):
            given = state_dict.get(prefix + name)
            if mine is not None and given is not None and is_lazy(mine) and not is_lazy(given):
                with undertow.no_grad():
                    mine.materialize(given.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Materialize the parameters from the arguments of the first call; implemented by every lazy module."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Return True if a parameter or buffer is still uninitialized."""
        return any(is_lazy(t) for t in (*self._parameters.values(), *self._buffers.values()))

    def _infer_parameters(self, module: Any, args: Any, kwargs: Any = None) -> None:
        """Pre-hook of the first call: infer the sizes from its arguments and make the module an ordinary one."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {type(self).__name__} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become
