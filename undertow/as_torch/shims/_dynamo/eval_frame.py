"""`torch._dynamo.eval_frame`: the class of compiled modules, which programs look for with `isinstance`."""

from undertow.nn import Module

__all__ = ["OptimizedModule"]


class OptimizedModule(Module):
    """The class of compiled modules. It has no instances, because `compile` returns the module itself."""
