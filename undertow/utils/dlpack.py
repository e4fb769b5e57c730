"""DLPack under torch's older names: see `undertow.from_dlpack` and `Tensor.__dlpack__`."""

from __future__ import annotations

import enum

import undertow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """Return a capsule over the tensor's memory, which can be consumed once.

    >>> import undertow as ut
    >>> from_dlpack(to_dlpack(ut.tensor([1.0, 2.0])))
    tensor([1., 2.])
    """
    return tensor.__dlpack__()


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """Return a tensor over the memory of a capsule, or of an object with `__dlpack__`; a copy with copy=True."""
    return undertow.from_dlpack(ext_tensor, device=device, copy=copy)


class DLDeviceType(enum.IntEnum):
    """The device types of the standard, by torch's names."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17
