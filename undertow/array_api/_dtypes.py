"""Dtypes of the array API: conversion, promotion independent of values, and inspection."""

from __future__ import annotations

import undertow
from undertow import _C
from undertow._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_KINDS: dict[str, tuple[Any, ...]] = {
    "bool": (_C.bool,),
    "signed integer": (_C.int8, _C.int16, _C.int32, _C.int64),
    "unsigned integer": (_C.uint8,),
    "real floating": (_C.float32, _C.float64),
    "complex floating": (_C.complex64, _C.complex128),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]
_NAMES = str.split("bool int8 int16 int32 int64 uint8 float32 float64 complex64 complex128")


def promoted(*values: Any) -> list[Tensor]:
    """Convert the values to tensors of one dtype, determined by their dtypes only; numbers take the dtype of the tensors."""
    dtype = result_type(*values)
    return [v.to(dtype) if isinstance(v, Tensor) else undertow.full((), v, dtype=dtype) for v in values]


def result_type(*arrays_and_dtypes: Any) -> Any:
    """Return the dtype of the result of an operation on the arguments."""
    dtypes = [v.dtype if isinstance(v, Tensor) else v for v in arrays_and_dtypes if isinstance(v, (Tensor, _C.dtype))]
    numbers = [v for v in arrays_and_dtypes if not isinstance(v, (Tensor, _C.dtype))]
    if not dtypes:
        raise ValueError("result_type: at least one array or dtype is needed")
    result = dtypes[0]
    for dtype in dtypes[1:]:
        result = undertow.promote_types(result, dtype)
    for number in numbers:
        if not isinstance(number, (bool, int, float, complex)):
            raise TypeError(f"result_type: expected arrays, dtypes and numbers, got {type(number).__name__}")
        result = undertow.result_type(undertow.empty(1, dtype=result), number)
    return result


def astype(x: Tensor, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Tensor:
    """Convert an array to another dtype."""
    return x.to(dtype=dtype, device=device, copy=copy)


def can_cast(from_: Any, to: Any, /) -> bool:
    """Return True if `from_` can be cast to `to` under the promotion rules."""
    source = from_.dtype if isinstance(from_, Tensor) else from_
    return undertow.promote_types(source, to) is to


def isdtype(dtype: Any, kind: Any) -> bool:
    """Return True if `dtype` is equal to `kind`, belongs to the named kind, or matches any kind in a tuple."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise ValueError(f"isdtype: unknown kind {kind!r}; there are {', '.join(_KINDS)}")
        return dtype in _KINDS[kind]
    return dtype is kind


class _Info:
    """Inspection: dtypes, devices and optional capabilities."""

    def capabilities(self) -> dict[str, Any]:
        """Return the capabilities: boolean indexing and data-dependent shapes are supported."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Any:
        """Return the default device."""
        return _C.device("cpu")

    def devices(self) -> list[Any]:
        """Return the available devices."""
        return [_C.device("cpu")]

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """Return the default dtypes of each kind of number."""
        real = undertow.get_default_dtype()
        return {
            "real floating": real,
            "complex floating": undertow.promote_types(real, _C.complex64),
            "integral": _C.int64,
            "indexing": _C.int64,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """Return the supported dtypes by name; uint8 is the only unsigned one."""
        found = {name: getattr(_C, name) for name in _NAMES}
        return found if kind is None else {name: dtype for name, dtype in found.items() if isdtype(dtype, kind)}


def __array_namespace_info__() -> _Info:
    """Return an object with inspection methods."""
    return _Info()
