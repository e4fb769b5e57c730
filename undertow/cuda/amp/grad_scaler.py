"""Where older programs import GradScaler from."""

from undertow.cuda.amp import GradScaler

__all__ = ["GradScaler"]
