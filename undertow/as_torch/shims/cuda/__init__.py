"""Names of torch.cuda that are not in undertow.cuda: the classes of tensors of one dtype, and the modules of this folder."""

from __future__ import annotations

from undertow.as_torch.shims._legacy_tensors import on_cuda as _on_cuda

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BFloat16Tensor: type[Any] = _on_cuda("BFloat16Tensor")
BoolTensor: type[Any] = _on_cuda("BoolTensor")
ByteTensor: type[Any] = _on_cuda("ByteTensor")
CharTensor: type[Any] = _on_cuda("CharTensor")
DoubleTensor: type[Any] = _on_cuda("DoubleTensor")
FloatTensor: type[Any] = _on_cuda("FloatTensor")
HalfTensor: type[Any] = _on_cuda("HalfTensor")
IntTensor: type[Any] = _on_cuda("IntTensor")
LongTensor: type[Any] = _on_cuda("LongTensor")
ShortTensor: type[Any] = _on_cuda("ShortTensor")

__all__ = [
    "BFloat16Tensor",
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
]
