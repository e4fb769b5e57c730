"""Calls of modules with given parameters, by the name of torch's file of them."""

from undertow.func import functional_call, stack_module_state

__all__ = ["functional_call", "stack_module_state"]
