"""The dictionaries of the hooks that run for all modules."""

from undertow.nn.modules._hooks import hooks as _hooks

__all__ = [
    "_global_backward_hooks",
    "_global_backward_pre_hooks",
    "_global_buffer_registration_hooks",
    "_global_forward_hooks",
    "_global_forward_hooks_always_called",
    "_global_forward_hooks_with_kwargs",
    "_global_forward_pre_hooks",
    "_global_module_registration_hooks",
    "_global_parameter_registration_hooks",
]

_global_backward_hooks = _hooks.backward
_global_backward_pre_hooks = _hooks.backward_pre
_global_buffer_registration_hooks = _hooks.buffer_registration
_global_forward_hooks = _hooks.forward
_global_forward_hooks_always_called = _hooks.forward_always_called
_global_forward_hooks_with_kwargs = _hooks.forward_with_kwargs
_global_forward_pre_hooks = _hooks.forward_pre
_global_module_registration_hooks = _hooks.module_registration
_global_parameter_registration_hooks = _hooks.parameter_registration
