"""DLPack under torch's older names: see `undertow.from_dlpack` and `Tensor.__dlpack__`."""

from __future__ import annotations

import undertow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule over the tensor's memory, for one taker.

    >>> import undertow as ut
    >>> from_dlpack(to_dlpack(ut.tensor([1.0, 2.0])))
    tensor([1., 2.])
    """
    return tensor.__dlpack__()


def from_dlpack(ext_tensor: Any) -> Tensor:
    """A tensor over the memory of a capsule, or of an object that gives one."""
    return undertow.from_dlpack(ext_tensor)
