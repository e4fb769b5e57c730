"""`torch._functorch.functional_call`: calls of modules with given parameters."""

from undertow.func import functional_call, stack_module_state

__all__ = ["functional_call", "stack_module_state"]
