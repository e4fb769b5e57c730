"""Where older programs import GradScaler from."""

from undertow.as_torch.shims.cuda.amp import GradScaler

__all__ = ["GradScaler"]
