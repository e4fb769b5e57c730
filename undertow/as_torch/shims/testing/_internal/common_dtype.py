"""Families of dtypes, by torch's names."""

from __future__ import annotations

import undertow as ut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _dispatch_dtypes(tuple):
    """A tuple of distinct dtypes. Stand-ins of missing dtypes are left out."""

    __slots__ = ()

    def __new__(cls, dtypes: Any = ()) -> _dispatch_dtypes:
        return super().__new__(cls, dict.fromkeys(d for d in dtypes if type(d) is ut.dtype))

    def __add__(self, other: Any) -> _dispatch_dtypes:
        return _dispatch_dtypes((*self, *other))


def _types(*dtypes: Any) -> _dispatch_dtypes:
    return _dispatch_dtypes(dtypes)


_floating = _types(ut.float32, ut.float64)
_complex = _types(ut.complex64, ut.complex128)
_integral = _types(ut.uint8, ut.int8, ut.int16, ut.int32, ut.int64)
_halves = _types(ut.float16, ut.bfloat16)
_float8 = _types(ut.float8_e4m3fn, ut.float8_e5m2, ut.float8_e4m3fnuz, ut.float8_e5m2fnuz)


def empty_types() -> _dispatch_dtypes: return _types()
def floating_types() -> _dispatch_dtypes: return _floating
def floating_types_and_half() -> _dispatch_dtypes: return _types(*_floating, ut.float16)
def floating_types_and(*dtypes: Any) -> _dispatch_dtypes: return _types(*_floating, *dtypes)
def complex_types() -> _dispatch_dtypes: return _complex
def complex_types_and(*dtypes: Any) -> _dispatch_dtypes: return _types(*_complex, *dtypes)
def floating_and_complex_types() -> _dispatch_dtypes: return _types(*_floating, *_complex)
def floating_and_complex_types_and(*dtypes: Any) -> _dispatch_dtypes: return _types(*_floating, *_complex, *dtypes)
def double_types() -> _dispatch_dtypes: return _types(ut.float64, ut.complex128)
def integral_types() -> _dispatch_dtypes: return _integral
def integral_types_and(*dtypes: Any) -> _dispatch_dtypes: return _types(*_integral, *dtypes)
def all_types() -> _dispatch_dtypes: return _types(*_floating, *_integral)
def all_types_and(*dtypes: Any) -> _dispatch_dtypes: return _types(*_floating, *_integral, *dtypes)
def all_types_and_half() -> _dispatch_dtypes: return _types(*_floating, *_integral, ut.float16)
def all_types_and_complex() -> _dispatch_dtypes: return _types(*_floating, *_integral, *_complex)
def all_types_and_complex_and(*dtypes: Any) -> _dispatch_dtypes: return _types(*_floating, *_integral, *_complex, *dtypes)
def all_mps_types() -> _dispatch_dtypes: return _types(ut.float16, ut.bfloat16, ut.float32, *_integral)
def all_mps_types_and(*dtypes: Any) -> _dispatch_dtypes: return _types(*all_mps_types(), *dtypes)
def float8_types() -> _dispatch_dtypes: return _float8
def float8_types_and(*dtypes: Any) -> _dispatch_dtypes: return _types(*_float8, *dtypes)
def all_types_complex_float8_and(*dtypes: Any) -> _dispatch_dtypes: return all_types_and_complex_and(*_float8, *dtypes)
def get_all_qint_dtypes() -> list[Any]: return []
def highest_precision_float(device: Any) -> Any: return ut.float64
def highest_precision_complex(device: Any) -> Any: return ut.complex128
def custom_types(*dtypes: Any) -> _dispatch_dtypes: return _types(*dtypes)
def get_all_int_dtypes() -> list[Any]: return list(_integral)
def get_all_complex_dtypes(include_complex32: bool = False) -> list[Any]: return [*([ut.complex32] if include_complex32 else []), *_complex]


def get_all_fp_dtypes(include_half: bool = True, include_bfloat16: bool = True) -> list[Any]:
    return [*_floating, *([ut.float16] if include_half else []), *([ut.bfloat16] if include_bfloat16 else [])]


def get_all_dtypes(include_half: bool = True, include_bfloat16: bool = True, include_bool: bool = True, include_complex: bool = True,
                   include_complex32: bool = False, include_qint: bool = False) -> list[Any]:
    return [*get_all_int_dtypes(), *get_all_fp_dtypes(include_half, include_bfloat16), *([ut.bool] if include_bool else []),
            *(get_all_complex_dtypes(include_complex32) if include_complex else [])]


def get_all_math_dtypes(device: Any) -> list[Any]:
    return [*get_all_int_dtypes(), *get_all_fp_dtypes(include_half=False, include_bfloat16=False), *get_all_complex_dtypes()]


float_to_corresponding_complex_type_map = {ut.float16: ut.complex32, ut.float32: ut.complex64, ut.float64: ut.complex128}
