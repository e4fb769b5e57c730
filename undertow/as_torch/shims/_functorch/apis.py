"""`torch._functorch.apis`: grad and vmap."""

from undertow.func import grad, grad_and_value, vmap

__all__ = ["grad", "grad_and_value", "vmap"]
