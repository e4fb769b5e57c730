"""Names of torch.sparse that are not in undertow.sparse: the classes of sparse tensors of one dtype."""

from __future__ import annotations

from undertow.as_torch.shims import _legacy_tensors
from undertow.as_torch.shims._legacy_tensors import sparse_class as _class

BFloat16Tensor = _class("BFloat16Tensor", _legacy_tensors.BFloat16Tensor.dtype)
ByteTensor = _class("ByteTensor", _legacy_tensors.ByteTensor.dtype)
CharTensor = _class("CharTensor", _legacy_tensors.CharTensor.dtype)
DoubleTensor = _class("DoubleTensor", _legacy_tensors.DoubleTensor.dtype)
FloatTensor = _class("FloatTensor", _legacy_tensors.FloatTensor.dtype)
HalfTensor = _class("HalfTensor", _legacy_tensors.HalfTensor.dtype)
IntTensor = _class("IntTensor", _legacy_tensors.IntTensor.dtype)
LongTensor = _class("LongTensor", _legacy_tensors.LongTensor.dtype)
ShortTensor = _class("ShortTensor", _legacy_tensors.ShortTensor.dtype)

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

