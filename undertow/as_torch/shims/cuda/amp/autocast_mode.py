"""Where older programs import autocast from."""

from undertow.as_torch.shims.cuda.amp import autocast, custom_bwd, custom_fwd

__all__ = ["autocast", "custom_bwd", "custom_fwd"]
