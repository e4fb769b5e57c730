"""Names of torch.autograd.forward_ad that are not in undertow.autograd.forward_ad: the switch of forward-mode derivatives."""

from __future__ import annotations

from undertow import _C
from undertow.utils._contextlib import _DecoratorContextManager

__all__ = ["_is_fwd_grad_enabled", "_set_fwd_grad_enabled"]

_is_fwd_grad_enabled = _C._is_fwd_grad_enabled


class _set_fwd_grad_enabled(_DecoratorContextManager):
    """Context manager: compute forward-mode derivatives, or do not."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self.prev = _C._is_fwd_grad_enabled()
        _C._set_fwd_grad_enabled(mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        _C._set_fwd_grad_enabled(self.prev)

    def clone(self) -> _set_fwd_grad_enabled:
        """Return a context manager with the same mode."""
        return type(self)(self.mode)
