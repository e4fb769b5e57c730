"""Names of torch.amp.grad_scaler that are not in undertow.amp.grad_scaler."""

import enum

__all__ = ["OptState"]


class OptState(enum.Enum):
    """What a scaler has done with an optimizer since the last update."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2
