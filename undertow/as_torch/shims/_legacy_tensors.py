"""`FloatTensor` and others: torch's oldest constructors, one class per dtype.

They are not base classes of any tensor; `isinstance` checks the dtype.
"""

from __future__ import annotations

from undertow import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _LegacyMeta(type):
    dtype: Any

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _C.Tensor) and instance.dtype is cls.dtype

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return _C._legacy_tensor(cls.dtype, args)

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


class _CudaMeta(_LegacyMeta):
    """The classes of `torch.cuda`: nothing is an instance, and none can be created."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return False

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"type torch.cuda.{cls.__name__} not available. Torch not compiled with CUDA enabled.")

    def __repr__(cls) -> str:
        return f"<class 'torch.cuda.{cls.__name__}'>"


def _legacy(name: str, dtype: Any) -> Any:
    doc = f"Create a tensor of {dtype}: uninitialised, from sizes, or from data."
    return _LegacyMeta(name, (), {"dtype": dtype, "layout": _C.strided, "is_cuda": False, "is_sparse": False, "__doc__": doc, "__module__": "torch"})


def on_cuda(name: str) -> Any:
    """Return the class of that name in `torch.cuda`."""
    facts = {"dtype": globals()[name].dtype, "layout": _C.strided, "is_cuda": True, "is_sparse": False}
    return _CudaMeta(name, (), {**facts, "__module__": "torch.cuda"})


BoolTensor: Any = _legacy("BoolTensor", _C.bool)
ByteTensor: Any = _legacy("ByteTensor", _C.uint8)
CharTensor: Any = _legacy("CharTensor", _C.int8)
ShortTensor: Any = _legacy("ShortTensor", _C.int16)
IntTensor: Any = _legacy("IntTensor", _C.int32)
LongTensor: Any = _legacy("LongTensor", _C.int64)
HalfTensor: Any = _legacy("HalfTensor", _C.float16)
BFloat16Tensor: Any = _legacy("BFloat16Tensor", _C.bfloat16)
FloatTensor: Any = _legacy("FloatTensor", _C.float32)
DoubleTensor: Any = _legacy("DoubleTensor", _C.float64)
