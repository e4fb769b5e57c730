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
    layout: Any

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _C.Tensor) and instance.dtype is cls.dtype and instance.layout is cls.layout

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return _C._legacy_tensor(cls.dtype, args, kwargs)

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


class _SparseMeta(_LegacyMeta):
    """The classes of `torch.sparse`: COO tensors of one dtype."""

    def __call__(cls, *args: Any, device: Any = None) -> Any:
        return sparse_tensor(cls.dtype, args, device)

    def __repr__(cls) -> str:
        return f"<class 'torch.sparse.{cls.__name__}'>"


def sparse_tensor(dtype: Any, args: tuple[Any, ...], device: Any = None) -> Any:
    """Return the COO tensor of torch's old constructors: of indices and values (whose dtype it has), or of sizes, with a warning."""
    import warnings

    import undertow

    given, wants = "", "(0,), dtype="
    size: Any = (0,)
    if len(args) in (2, 3) and all(isinstance(a, _C.Tensor) for a in args[:2]):
        given = "indices, values" if len(args) == 2 else "indices, values, shape"
        wants = f"{given}, dtype=, device="
    elif args and (all(isinstance(a, int) for a in args) or len(args) == 1 and isinstance(args[0], _C.Size)):
        given, wants, size = "shape", "shape, dtype=, device=", args[0] if isinstance(args[0], _C.Size) else args
    elif len(args) == 1 and isinstance(args[0], (tuple, list)):
        raise TypeError(
            "torch.sparse.SparseTensor(sequence) only accepts sizes.  Please use torch.sparse_coo_tensor() or construct a strided tensor "
            "and convert it to sparse via to_sparse."
        )
    elif args:
        kinds = ", ".join(type(a).__name__ for a in args)
        raise TypeError(f"new() received an invalid combination of arguments - got ({kinds}), but expected sizes, or tensors of indices and values")
    old = f"{given}, *, device=" if given else ""
    warnings.warn(f"torch.sparse.SparseTensor({old}) is deprecated.  Please use torch.sparse_coo_tensor({wants}).", stacklevel=3)
    if "values" in given:
        return undertow.sparse_coo_tensor(*args, device=device)
    return undertow.sparse_coo_tensor(size, dtype=dtype, device=device)


def sparse_class(name: str, dtype: Any) -> Any:
    """Return the class of that name in `torch.sparse`."""
    return _SparseMeta(name, (), {"dtype": dtype, "layout": _C.sparse_coo, "is_cuda": False, "is_sparse": True, "__module__": "torch.sparse"})


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
_STRIDED = (BoolTensor, ByteTensor, CharTensor, ShortTensor, IntTensor, LongTensor, HalfTensor, BFloat16Tensor, FloatTensor, DoubleTensor)
_tensor_classes = {*_STRIDED, *(on_cuda(each.__name__) for each in _STRIDED)}
