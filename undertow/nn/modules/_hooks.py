"""Module hooks: registration of global hooks, and the call that runs all of them in order.

Order of one call, as in torch: global and own forward-pre hooks, the backward-hook wrapping of inputs, forward, global and own
forward hooks, the wrapping of outputs.
"""

from __future__ import annotations

import functools
import warnings
import weakref
from collections import OrderedDict

from undertow._C import Tensor
from undertow.utils.hooks import RemovableHandle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from undertow.nn.modules.module import Module


# The module whose globals named `_global_*` are the hooks that run for every module: module.py, which sets this name. Programs assign
# new dictionaries to those globals to remove all hooks, so each use looks them up.
home: Any = None


def _register(where: OrderedDict, hook: Callable, extra: Any = None) -> RemovableHandle:
    handle = RemovableHandle(where, extra_dict=extra)
    where[handle.id] = hook
    return handle


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, buffer)` whenever a module registers a buffer; a result replaces it."""
    return _register(home._global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, submodule)` whenever a module registers a submodule; a result replaces it."""
    return _register(home._global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, parameter)` whenever a module registers a parameter; a result replaces it."""
    return _register(home._global_parameter_registration_hooks, hook)


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, args)` before every module's forward; a result replaces the arguments."""
    return _register(home._global_forward_pre_hooks, hook)


def register_module_forward_hook(hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False) -> RemovableHandle:
    """Call `hook(module, args, output)` after every module's forward; a result replaces the output."""
    handle = _register(home._global_forward_hooks, hook, [home._global_forward_hooks_with_kwargs, home._global_forward_hooks_always_called])
    if with_kwargs:
        home._global_forward_hooks_with_kwargs[handle.id] = True
    if always_call:
        home._global_forward_hooks_always_called[handle.id] = True
    return handle


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """The older form of `register_module_full_backward_hook`, which gets only the gradients of the last node."""
    if home._global_is_full_backward_hook is True:
        raise RuntimeError("Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use only one of them.")
    home._global_is_full_backward_hook = False
    return _register(home._global_backward_hooks, hook)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_output)` when the gradient of a module's output is known; a result replaces it."""
    return _register(home._global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` when the gradients of a module's inputs are known; a result replaces grad_input."""
    if home._global_is_full_backward_hook is False:
        raise RuntimeError("Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use only one of them.")
    home._global_is_full_backward_hook = True
    return _register(home._global_backward_hooks, hook)


class _WrappedHook:  # torch's name, which its files hold
    """A hook that is called with the module as first argument; it is pickled with the module and holds a weak reference to it."""

    def __init__(self, hook: Callable[..., Any], module: Module | None = None) -> None:
        self.hook = hook
        functools.update_wrapper(self, hook)
        self.with_module = module is not None
        if module is not None:
            self.module = weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        state = {"hook": self.hook, "with_module": self.with_module}
        if self.with_module:
            state["module"] = self.module()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.hook, self.with_module = state["hook"], state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = weakref.ref(state["module"])


def _first_tensor(value: Any) -> Tensor | None:
    while not isinstance(value, Tensor):
        value = next((v for v in value.values() if isinstance(v, Tensor)), None) if isinstance(value, dict) else value[0]
        if value is None:
            return None
    return value


def collect(module: Module) -> tuple[list, list, list]:
    """Return the backward-pre, full backward, and old-style backward hooks, global hooks first."""
    pre = [*home._global_backward_pre_hooks.values(), *module._backward_pre_hooks.values()]
    full: list = []
    old: list = []
    if home._global_is_full_backward_hook is True:
        full += home._global_backward_hooks.values()
    elif home._global_is_full_backward_hook is False:
        old += home._global_backward_hooks.values()
    if module._is_full_backward_hook is True:
        full += module._backward_hooks.values()
    elif module._is_full_backward_hook is False:
        old += module._backward_hooks.values()
    return pre, full, old


def call_with_hooks(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call `module.forward(*args, **kwargs)` with all hooks that apply."""
    called: set[int] = set()
    result = None
    try:
        return _call(module, args, kwargs, called)
    except Exception:
        _call_always(module, args, kwargs, result, called)
        raise


def _call(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any], called: set[int]) -> Any:
    pre, full, old = collect(module)
    for hook_id, hook in (*home._global_forward_pre_hooks.items(), *module._forward_pre_hooks.items()):
        if hook_id in module._forward_pre_hooks_with_kwargs:
            changed = hook(module, args, kwargs)
            if changed is not None:
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}.")
                args, kwargs = changed
        else:
            changed = hook(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)

    wrapping = None
    if full or pre:
        from undertow.nn.modules._backward_hooks import BackwardHook

        wrapping = BackwardHook(module, full, pre)
        args = wrapping.setup_input_hook(args)

    result = module.forward(*args, **kwargs)

    for hook_id, hook in (*home._global_forward_hooks.items(), *module._forward_hooks.items()):
        if hook_id in home._global_forward_hooks_always_called or hook_id in module._forward_hooks_always_called:
            called.add(hook_id)
        with_kwargs = hook_id in module._forward_hooks_with_kwargs or hook_id in home._global_forward_hooks_with_kwargs
        changed = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
        if changed is not None:
            result = changed

    if wrapping is not None:
        if not isinstance(result, (Tensor, tuple)):
            warnings.warn(
                f"For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received {type(result)}", stacklevel=3
            )
        result = wrapping.setup_output_hook(result)
    if old:
        tensor = _first_tensor(result)
        node = tensor.grad_fn if tensor is not None else None
        if node is not None:
            for hook in old:
                node.register_hook(functools.partial(hook, module))
            module._maybe_warn_non_full_backward_hook(args, result, node)
    return result


def _call_always(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any, called: set[int]) -> None:
    """Run the forward hooks with always_call that have not run yet, after forward has raised."""
    for always, where, with_kwargs in (
        (home._global_forward_hooks_always_called, home._global_forward_hooks, home._global_forward_hooks_with_kwargs),
        (module._forward_hooks_always_called, module._forward_hooks, module._forward_hooks_with_kwargs),
    ):
        for hook_id in list(always):
            if hook_id in called or hook_id not in where:
                continue
            try:
                hook = where[hook_id]
                hook(module, args, kwargs, result) if hook_id in with_kwargs else hook(module, args, result)
            except Exception as error:
                warnings.warn(
                    f"forward hook with ``always_call=True`` raised an exception that was silenced as another error was raised in forward: {error}",
                    stacklevel=3,
                )
