"""grad and vmap by the name of torch's file of them."""

from undertow.func import grad, grad_and_value, vmap

__all__ = ["grad", "grad_and_value", "vmap"]
