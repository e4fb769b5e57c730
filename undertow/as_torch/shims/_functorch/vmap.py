"""vmap by the name of torch's file of it."""

from undertow.func import vmap

__all__ = ["vmap"]
