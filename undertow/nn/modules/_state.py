"""The state dict of a module: saving, loading, and the errors for mismatches."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

import undertow
from undertow._C import Parameter, Tensor
from undertow.nn.modules._hooks import _WrappedHook
from undertow.nn.parameter import is_lazy
from undertow.utils.hooks import RemovableHandle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

_EXTRA_STATE = "_extra_state"


class IncompatibleKeys(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]


class _IncompatibleKeys(IncompatibleKeys):
    """The result of `load_state_dict`: the missing keys and the unexpected keys."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


def _load_tree(module: Any, local: Any, prefix: str, assign: bool, metadata: Any, problems: tuple[list[str], list[str], list[str]]) -> None:
    """Load the entries of a module and its submodules. Not a closure, which would keep the state dict in a reference cycle."""
    local_metadata = {} if metadata is None else metadata.get(prefix[:-1], {})
    if assign:
        local_metadata["assign_to_params_buffers"] = assign
    module._load_from_state_dict(local, prefix, local_metadata, True, *problems)
    for name, child in module._modules.items():
        if child is not None:
            inside = f"{prefix}{name}."
            _load_tree(child, {k: v for k, v in local.items() if k.startswith(inside)}, inside, assign, metadata, problems)
    incompatible = _IncompatibleKeys(*problems[:2])
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, incompatible) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, "
                "if incompatible_keys need to be modified, it should be done inplace."
            )


class StateDict:
    """The part of Module that reads and writes state dicts."""

    if TYPE_CHECKING:
        _parameters: dict[str, Any]
        _buffers: dict[str, Any]
        _modules: dict[str, Any]
        _state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
        _state_dict_hooks: OrderedDict[int, Callable[..., Any]]
        _load_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
        _load_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]
    _non_persistent_buffers_set: set[str]
    _version: int

    def get_extra_state(self) -> Any:
        """Return additional state for the state dict; implemented by subclasses."""
        raise RuntimeError("Reached a code path in Module.get_extra_state() that should never be called.")

    def set_extra_state(self, state: Any) -> None:
        """Load the state returned by `get_extra_state`; implemented by subclasses."""
        raise RuntimeError("Reached a code path in Module.set_extra_state() that should never be called.")

    def _has_extra_state(self, which: str) -> bool:
        return getattr(type(self), which) is not getattr(StateDict, which)

    # -- writing -----------------------------------------------------------------------------------------------------

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before the module's state is saved."""
        handle = RemovableHandle(self._state_dict_pre_hooks)
        self._state_dict_pre_hooks[handle.id] = hook
        return handle

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after the module's state is saved."""
        hook._from_public_api = True  # type: ignore[attr-defined]  # torch's mark
        handle = RemovableHandle(self._state_dict_hooks)
        self._state_dict_hooks[handle.id] = hook
        return handle

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via register_state_dict_post_hook"
            )
        handle = RemovableHandle(self._state_dict_hooks)
        self._state_dict_hooks[handle.id] = hook
        return handle

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        for name, value in (*self._parameters.items(), *self._buffers.items()):
            if value is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = value if keep_vars else value.detach()
        if self._has_extra_state("get_extra_state"):
            destination[prefix + _EXTRA_STATE] = self.get_extra_state()

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Return the parameters and persistent buffers by dotted name; the tensors share memory with the module.

        >>> import undertow as ut
        >>> list(ut.nn.Linear(2, 1).state_dict())
        ['weight', 'bias']
        """
        if args:
            import warnings

            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. Refer to state_dict's documentation for details.",
                FutureWarning,
                stacklevel=2,
            )
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, local_metadata)
            if getattr(hook, "_from_public_api", False):
                if result is not None:
                    raise RuntimeError("state_dict post-hook must return None")
            elif result is not None:
                destination = result
        return destination

    # -- reading -----------------------------------------------------------------------------------------------------

    def _register_load_state_dict_pre_hook(self, hook: Callable[..., Any], with_module: bool = False) -> RemovableHandle:
        handle = RemovableHandle(self._load_state_dict_pre_hooks)
        owner: Any = self if with_module else None
        self._load_state_dict_pre_hooks[handle.id] = _WrappedHook(hook, owner)
        return handle

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)` before loading."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after loading; it may change the lists in place."""
        handle = RemovableHandle(self._load_state_dict_post_hooks)
        self._load_state_dict_post_hooks[handle.id] = hook
        return handle

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load the module's own entries, not those of submodules; subclasses may override it to convert old state dicts."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        assign = local_metadata.get("assign_to_params_buffers", False)
        persistent = {k: v for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set}
        own = {k: v for k, v in (*self._parameters.items(), *persistent.items()) if v is not None}
        for name, mine in own.items():
            key = prefix + name
            if key not in state_dict:
                if strict:
                    missing_keys.append(key)
                continue
            given = state_dict[key]
            problem = self._read_one(name, key, mine, given, assign)
            if problem:
                error_msgs.append(problem)
        extra_key = prefix + _EXTRA_STATE
        if self._has_extra_state("set_extra_state"):
            if extra_key in state_dict:
                self.set_extra_state(state_dict[extra_key])
            elif strict:
                missing_keys.append(extra_key)
        elif strict and extra_key in state_dict:
            unexpected_keys.append(extra_key)
        if strict:
            for key in state_dict:
                if not key.startswith(prefix) or key == extra_key:
                    continue
                name, *rest = key[len(prefix) :].split(".", 1)
                if (name not in self._modules) if rest else (name not in own):
                    unexpected_keys.append(key)

    def _read_one(self, name: str, key: str, mine: Tensor, given: Any, assign: bool) -> str | None:
        """Load one entry; return an error message or None."""
        from undertow._torch_bridge import is_pytorchs

        if not isinstance(given, Tensor) and is_pytorchs(given):
            given = undertow.from_torch(given)  # a state dict of PyTorch itself
        if not isinstance(given, Tensor):
            return (
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint but received {type(given)}'
            )
        if is_lazy(mine) and is_lazy(given):
            return None  # both are uninitialized
        if mine.dim() == 0 and given.dim() == 1 and given.shape[0] == 1:
            given = given[0]  # saved by a version without zero-dimensional tensors
        if given.shape != mine.shape:
            return f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the shape in current model is {mine.shape}."
        try:
            with undertow.no_grad():
                if mine.is_meta and not given.is_meta and not assign:
                    import warnings

                    warnings.warn(
                        f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current "
                        "model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary "
                        "to their corresponding key in the module instead of copying them in place?)",
                        stacklevel=2,
                    )
                if not assign:
                    mine.copy_(given)
                    return None
                if isinstance(mine, Parameter):
                    given = given if isinstance(given, Parameter) else Parameter(given, requires_grad=mine.requires_grad)
                    if given.requires_grad != mine.requires_grad:
                        given.requires_grad_(mine.requires_grad)
                setattr(self, name, given)
        except Exception as error:
            return (
                f'While copying the parameter named "{key}", whose dimensions in the model are {mine.size()} and '
                f"whose dimensions in the checkpoint are {given.size()}, an exception occurred : {error.args}."
            )
        return None

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> _IncompatibleKeys:
        """Copy parameters and buffers from a state dict, or with `assign` use its tensors directly.

        With `strict`, all keys must match; otherwise a RuntimeError lists the mismatches.
        """
        from collections.abc import Mapping as MappingType

        if not isinstance(state_dict, MappingType):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing_keys: list[str] = []
        unexpected_keys: list[str] = []
        error_msgs: list[str] = []
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = OrderedDict(state_dict)
        if metadata is not None:
            state_dict._metadata = metadata  # type: ignore[attr-defined]  # torch keeps versions there

        _load_tree(self, state_dict, "", assign, metadata, (missing_keys, unexpected_keys, error_msgs))
        if strict:
            if unexpected_keys:
                error_msgs.insert(0, "Unexpected key(s) in state_dict: {}. ".format(", ".join(f'"{k}"' for k in unexpected_keys)))
            if missing_keys:
                error_msgs.insert(0, "Missing key(s) in state_dict: {}. ".format(", ".join(f'"{k}"' for k in missing_keys)))
        if error_msgs:
            raise RuntimeError("Error(s) in loading state_dict for {}:\n\t{}".format(type(self).__name__, "\n\t".join(error_msgs)))
        return _IncompatibleKeys(missing_keys, unexpected_keys)
