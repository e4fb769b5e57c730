"""`pin_memory`: there is no pinned memory, so batches stay as they are."""

from __future__ import annotations

from typing import Any


def pin_memory(data: Any, device: Any = None) -> Any:
    """Return the batch; an object with its own method `pin_memory` is asked for its result."""
    from undertow import Tensor

    own = getattr(data, "pin_memory", None)
    return data if isinstance(data, Tensor) or own is None else own()
