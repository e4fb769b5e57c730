"""Mixed precision: `autocast` runs products in bfloat16 or float16, `GradScaler` keeps small gradients from vanishing."""

from undertow._lazy import explain_missing as _explain_missing
from undertow.amp.autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from undertow.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

TYPE_CHECKING = False
if not TYPE_CHECKING:  # a type checker that saw it would accept every name
    __getattr__ = _explain_missing(__name__)
