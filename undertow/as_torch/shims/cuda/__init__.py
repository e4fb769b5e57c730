"""Names of torch.cuda that are not in undertow.cuda: the classes of tensors of one dtype, and the modules of this folder."""

from undertow.as_torch.shims._legacy_tensors import on_cuda as _on_cuda

BFloat16Tensor = _on_cuda("BFloat16Tensor")
BoolTensor = _on_cuda("BoolTensor")
ByteTensor = _on_cuda("ByteTensor")
CharTensor = _on_cuda("CharTensor")
DoubleTensor = _on_cuda("DoubleTensor")
FloatTensor = _on_cuda("FloatTensor")
HalfTensor = _on_cuda("HalfTensor")
IntTensor = _on_cuda("IntTensor")
LongTensor = _on_cuda("LongTensor")
ShortTensor = _on_cuda("ShortTensor")

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
