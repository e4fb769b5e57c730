"""Names of torch.autograd.forward_ad that are not in undertow.autograd.forward_ad: a query of the switch of forward-mode derivatives."""

from undertow._C import _is_fwd_grad_enabled

__all__ = ["_is_fwd_grad_enabled"]
