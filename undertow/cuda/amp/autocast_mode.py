"""Where older programs import autocast from."""

from undertow.cuda.amp import autocast, custom_bwd, custom_fwd

__all__ = ["autocast", "custom_bwd", "custom_fwd"]
