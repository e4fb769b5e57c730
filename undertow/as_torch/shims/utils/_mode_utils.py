"""`torch.utils._mode_utils`: helpers of dispatch modes."""

from __future__ import annotations

from undertow.utils._python_dispatch import _DisableTorchDispatch as no_dispatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = ["all_same_mode", "no_dispatch"]


def all_same_mode(modes: Sequence[Any]) -> bool:
    """Return True if all are the same mode."""
    return all(mode == modes[0] for mode in modes)
