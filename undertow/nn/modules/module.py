"""`Module`: a part of a network that owns parameters, buffers and other modules.

This file has calls, attributes, hooks and `repr`. The state dict is in _state.py, iteration in _members.py, casts and modes in
_apply_everywhere.py, and the call that runs hooks in _hooks.py.
"""

from __future__ import annotations

import copy
import sys
from collections import OrderedDict

import undertow
from undertow._C import Parameter, Tensor
from undertow._lazy import names_from
from undertow.nn.modules import _hooks
from undertow.nn.modules._apply_everywhere import Changes
from undertow.nn.modules._hooks import _WrappedHook as _WrappedHook
from undertow.nn.modules._members import Members
from undertow.nn.modules._state import _EXTRA_STATE as _EXTRA_STATE_KEY_SUFFIX  # noqa: F401 (torch's name of it, which loaders look for)
from undertow.nn.modules._state import StateDict
from undertow.utils.hooks import RemovableHandle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_HOOK_DICTS = (
    "_backward_pre_hooks",
    "_backward_hooks",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)
_PLAIN = frozenset({bool, int, float, str, tuple, list, dict, type(None)})  # values that never are members of a module
# Hooks that run for every module; _hooks.py registers and runs them. The names are torch's.
_global_forward_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_forward_hooks_with_kwargs: OrderedDict[int, bool] = OrderedDict()
_global_forward_hooks_always_called: OrderedDict[int, bool] = OrderedDict()
_global_forward_pre_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_backward_pre_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_backward_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_is_full_backward_hook: bool | None = None
_global_buffer_registration_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_module_registration_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_parameter_registration_hooks: OrderedDict[int, Callable] = OrderedDict()
_hooks.home = sys.modules[__name__]


def _forward_unimplemented(self: Module, *input: Any) -> None:
    """Compute the output; implemented by every subclass."""
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


def _indented(text: str, spaces: int) -> str:
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * spaces + line for line in rest)])


_addindent = _indented  # torch's name


class Module(StateDict, Members, Changes):
    """The base class of all layers and networks: assign parameters and submodules as attributes, and define `forward`.

    >>> import undertow as ut
    >>> class Scale(ut.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.by = ut.nn.Parameter(ut.tensor(2.0))
    ...     def forward(self, x):
    ...         return x * self.by
    >>> Scale()(ut.ones(2)).tolist()
    [2.0, 2.0]
    """

    dump_patches: bool = False
    _version: int = 1
    training: bool
    call_super_init: bool = False
    if TYPE_CHECKING:
        _compiled_call_impl: Any
        _is_full_backward_hook: bool | None
    _compiled_call_impl = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            if kwargs:
                raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
            if args:
                raise TypeError(f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given")
        own = self.__dict__
        own["training"] = True
        own["_parameters"] = {}
        own["_buffers"] = {}
        own["_non_persistent_buffers_set"] = set()
        own["_is_full_backward_hook"] = None
        own["_modules"] = {}
        for name in _HOOK_DICTS:
            own[name] = OrderedDict()
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    if TYPE_CHECKING:
        forward: Callable[..., Any]
    forward = _forward_unimplemented

    # -- calling -----------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        own = self.__dict__
        try:
            if not (
                own["_forward_hooks"]
                or own["_forward_pre_hooks"]
                or own["_backward_hooks"]
                or own["_backward_pre_hooks"]
                or _global_forward_hooks
                or _global_forward_pre_hooks
                or _global_backward_hooks
                or _global_backward_pre_hooks
            ):
                return self.forward(*args, **kwargs)
            return _hooks.call_with_hooks(self, args, kwargs)
        except Exception as error:
            if "_forward_hooks" not in own:
                raise AttributeError(
                    f"'{type(self).__name__}' object has no attribute '_forward_hooks': its __init__ must call super().__init__()"
                ) from None
            from undertow.nn.modules._error_notes import name_layer

            name_layer(error, self, args, kwargs)
            raise

    _call_impl = _wrapped_call_impl = __call__

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: there is no compiler, and the module runs eagerly."""

    # -- registration ------------------------------------------------------------------------------------------------

    def _check_name(self, kind: str, name: Any) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {undertow.typename(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."' if kind != "module" else f'module name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is part of the module's state but not a parameter; `persistent` buffers are in the state dict."""
        if not persistent and "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name("buffer", name)
        if hasattr(self, name) and name not in self._buffers:
            raise KeyError(f"attribute '{name}' already exists")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign '{undertow.typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)")
        for hook in _global_buffer_registration_hooks.values():
            changed = hook(self, name, tensor)
            tensor = tensor if changed is None else changed
        self._buffers[name] = tensor
        self._non_persistent_buffers_set.discard(name) if persistent else self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter; None reserves the name."""
        self._check_name("parameter", name)
        if hasattr(self, name) and name not in self._parameters:
            raise KeyError(f"attribute '{name}' already exists")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"cannot assign '{undertow.typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)")
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To express '{name}' as a "
                "function of another Tensor, compute the value in the forward() method."
            )
        for hook in _global_parameter_registration_hooks.values():
            changed = hook(self, name, param)
            param = param if changed is None else changed
        self._parameters[name] = param

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule with a name."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{undertow.typename(module)} is not a Module subclass")
        self._check_name("module", name)
        if hasattr(self, name) and name not in self._modules:
            raise KeyError(f"attribute '{name}' already exists")
        for hook in _global_module_registration_hooks.values():
            changed = hook(self, name, module)
            module = module if changed is None else changed
        self._modules[name] = module

    def register_module(self, name: str, module: Module | None) -> None:
        """The same as `add_module`."""
        self.add_module(name, module)

    # -- attributes --------------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for kind in ("_parameters", "_buffers", "_modules"):
            found = own.get(kind)
            if found is not None and name in found:
                return found[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if type(value) in _PLAIN and not any(name in own.get(kind, ()) for kind in ("_parameters", "_buffers", "_modules")):
            object.__setattr__(self, name, value)
            return
        if isinstance(value, Parameter):
            if "_parameters" not in own:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, own, own["_buffers"], own["_modules"], own["_non_persistent_buffers_set"])
            self.register_parameter(name, value)
            return
        if name in own.get("_parameters", ()):
            if value is not None:
                raise TypeError(f"cannot assign '{undertow.typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)")
            self.register_parameter(name, value)
            return
        if isinstance(value, Module):
            if "_modules" not in own:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, own, own["_parameters"], own["_buffers"], own["_non_persistent_buffers_set"])
            for hook in _global_module_registration_hooks.values():
                changed = hook(self, name, value)
                value = value if changed is None else changed
            own["_modules"][name] = value
            return
        if name in own.get("_modules", ()):
            if value is not None:
                raise TypeError(f"cannot assign '{undertow.typename(value)}' as child module '{name}' (torch.nn.Module or None expected)")
            own["_modules"][name] = value
            return
        from undertow.nn.parameter import Buffer

        buffers: Any = own.get("_buffers")
        if isinstance(value, Buffer) or (buffers is not None and name in buffers):
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(f"cannot assign '{undertow.typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)")
            if isinstance(value, Buffer):
                self._forget(name, own, own.get("_parameters"), own.get("_modules"))
                if value.persistent:
                    self.register_buffer(name, value)  # a subclass may define it without the third argument
                else:
                    self.register_buffer(name, value, False)
                return
            for hook in _global_buffer_registration_hooks.values():
                changed = hook(self, name, value)
                value = value if changed is None else changed
            buffers[name] = value
            return
        object.__setattr__(self, name, value)

    @staticmethod
    def _forget(name: str, *places: Any) -> None:
        for place in places:
            if place is None or name not in place:
                continue
            place.discard(name) if isinstance(place, set) else place.pop(name)

    def __delattr__(self, name: str) -> None:
        for kind in ("_parameters", "_buffers", "_modules"):
            if name in getattr(self, kind):
                del getattr(self, kind)[name]
                self._non_persistent_buffers_set.discard(name) if kind == "_buffers" else None
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        return sorted(n for n in names if not n[0].isdigit())

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Copy as `copy.deepcopy` does by itself; only the empty dictionaries of hooks, a dozen in every module, are made directly."""
        for name in _HOOK_DICTS:
            hooks = self.__dict__.get(name)
            if not hooks and type(hooks) is OrderedDict:
                memo[id(hooks)] = OrderedDict()
        return copy._reconstruct(self, memo, *self.__reduce_ex__(4))  # type: ignore[attr-defined]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in _HOOK_DICTS:
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    # -- hooks -------------------------------------------------------------------------------------------------------

    def register_forward_pre_hook(self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False) -> RemovableHandle:
        """Call `hook(module, args)` before forward; a result replaces the arguments."""
        handle = RemovableHandle(self._forward_pre_hooks, extra_dict=self._forward_pre_hooks_with_kwargs)
        self._forward_pre_hooks[handle.id] = hook
        if with_kwargs:
            self._forward_pre_hooks_with_kwargs[handle.id] = True
        if prepend:
            self._forward_pre_hooks.move_to_end(handle.id, last=False)
        return handle

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after forward; a result replaces the output."""
        handle = RemovableHandle(self._forward_hooks, extra_dict=[self._forward_hooks_with_kwargs, self._forward_hooks_always_called])
        self._forward_hooks[handle.id] = hook
        if with_kwargs:
            self._forward_hooks_with_kwargs[handle.id] = True
        if always_call:
            self._forward_hooks_always_called[handle.id] = True
        if prepend:
            self._forward_hooks.move_to_end(handle.id, last=False)
        return handle

    def _get_backward_hooks(self) -> tuple[list[Any], list[Any]]:
        """Return the full backward hooks, and the hooks of the older form, global hooks first."""
        _, full, old = _hooks.collect(self)
        return full, old

    def _get_backward_pre_hooks(self) -> list[Any]:
        return _hooks.collect(self)[0]

    def _backward_handle(self, hook: Callable[..., Any], full: bool, prepend: bool = False) -> RemovableHandle:
        if self._is_full_backward_hook is not None and self._is_full_backward_hook != full:
            raise RuntimeError("Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only one of them.")
        self._is_full_backward_hook = full
        handle = RemovableHandle(self._backward_hooks)
        self._backward_hooks[handle.id] = hook
        if prepend:
            self._backward_hooks.move_to_end(handle.id, last=False)
        return handle

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when the inputs' gradients are known; a result replaces grad_input."""
        return self._backward_handle(hook, full=True, prepend=prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """The older form of `register_full_backward_hook`, which gets only the gradients of the last operation."""
        return self._backward_handle(hook, full=False)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` when the output's gradient is known; a result replaces it."""
        handle = RemovableHandle(self._backward_pre_hooks)
        self._backward_pre_hooks[handle.id] = hook
        if prepend:
            self._backward_pre_hooks.move_to_end(handle.id, last=False)
        return handle

    def _maybe_warn_non_full_backward_hook(self, inputs: Any, result: Any, node: Any) -> None:
        import warnings

        several = isinstance(result, tuple) or isinstance(inputs, tuple) and len([t for t in inputs if isinstance(t, Tensor)]) > 1
        edges = {n for n, _ in node.next_functions if n is not None}
        wanted = {t.grad_fn for t in inputs if isinstance(t, Tensor) and t.requires_grad and t.grad_fn is not None}
        if several or (wanted and edges != wanted):
            warnings.warn(
                "Using a non-full backward hook when the forward contains multiple autograd Nodes is deprecated and will be removed in future "
                "versions. This hook will be missing some grad_input. Please use register_full_backward_hook to get the documented behavior.",
                FutureWarning,
                stacklevel=5,
            )

    # -- text --------------------------------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Return the text between the parentheses of the module's repr."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({key}): {_indented(repr(module), 2)}" for key, module in self._modules.items()]
        parts = [*lines, *children]
        if not parts:
            return f"{self._get_name()}()"
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({lines[0]})"
        return f"{self._get_name()}(\n  " + "\n  ".join(parts) + "\n)"

    __hash__ = object.__hash__  # the slot itself: sets of modules are made in every iteration over parameters


if TYPE_CHECKING:
    from undertow.nn.modules._hooks import register_module_backward_hook as register_module_backward_hook
    from undertow.nn.modules._hooks import register_module_buffer_registration_hook as register_module_buffer_registration_hook
    from undertow.nn.modules._hooks import register_module_forward_hook as register_module_forward_hook
    from undertow.nn.modules._hooks import register_module_forward_pre_hook as register_module_forward_pre_hook
    from undertow.nn.modules._hooks import register_module_full_backward_hook as register_module_full_backward_hook
    from undertow.nn.modules._hooks import register_module_full_backward_pre_hook as register_module_full_backward_pre_hook
    from undertow.nn.modules._hooks import register_module_module_registration_hook as register_module_module_registration_hook
    from undertow.nn.modules._hooks import register_module_parameter_registration_hook as register_module_parameter_registration_hook
    from undertow.nn.modules._state import _IncompatibleKeys as _IncompatibleKeys
else:  # torch has these names here
    __getattr__ = names_from(
        __name__,
        {
            "undertow.nn.modules._hooks": """
                register_module_buffer_registration_hook register_module_module_registration_hook register_module_parameter_registration_hook
                register_module_forward_pre_hook register_module_forward_hook register_module_full_backward_pre_hook
                register_module_full_backward_hook register_module_backward_hook""",
            "undertow.nn.modules._state": "_IncompatibleKeys",
        },
    )
