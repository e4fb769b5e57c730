"""Names of torch.sparse that are not in undertow.sparse: the classes of sparse tensors of one dtype."""

from __future__ import annotations

from undertow.as_torch.shims import _legacy_tensors
from undertow.as_torch.shims._legacy_tensors import sparse_class as _class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BFloat16Tensor: type[Any] = _class("BFloat16Tensor", _legacy_tensors.BFloat16Tensor.dtype)
ByteTensor: type[Any] = _class("ByteTensor", _legacy_tensors.ByteTensor.dtype)
CharTensor: type[Any] = _class("CharTensor", _legacy_tensors.CharTensor.dtype)
DoubleTensor: type[Any] = _class("DoubleTensor", _legacy_tensors.DoubleTensor.dtype)
FloatTensor: type[Any] = _class("FloatTensor", _legacy_tensors.FloatTensor.dtype)
HalfTensor: type[Any] = _class("HalfTensor", _legacy_tensors.HalfTensor.dtype)
IntTensor: type[Any] = _class("IntTensor", _legacy_tensors.IntTensor.dtype)
LongTensor: type[Any] = _class("LongTensor", _legacy_tensors.LongTensor.dtype)
ShortTensor: type[Any] = _class("ShortTensor", _legacy_tensors.ShortTensor.dtype)

__all__ = [
    "BFloat16Tensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
]

