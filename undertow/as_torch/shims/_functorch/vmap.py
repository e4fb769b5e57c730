"""`torch._functorch.vmap`: vmap."""

from undertow.func import vmap

__all__ = ["vmap"]
