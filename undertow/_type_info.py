"""`finfo` and `iinfo`: numerical limits of dtypes; `typename`: the type of an object; the package name in messages."""

from __future__ import annotations

from undertow import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import dtype as _dtype

_type = type  # the classes below have an argument of that name
_MANTISSA = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}
_LOWEST_EXPONENT = {"float16": -14, "bfloat16": -126, "float32": -126, "float64": -1022}
# Largest number, eps, smallest normal number.
_FLOAT8 = {
    "float8_e4m3fn": (448.0, 0.125, 2.0**-6),
    "float8_e5m2": (57344.0, 0.25, 2.0**-14),
    "float8_e4m3fnuz": (240.0, 0.125, 2.0**-7),
    "float8_e5m2fnuz": (57344.0, 0.125, 2.0**-15),
    "float8_e8m0fnu": (2.0**127, 1.0, 2.0**-127),
}
_RESOLUTION = {"float16": 1e-3, "bfloat16": 1e-2, "float32": 1e-6, "float64": 1e-15}


def _dtype_of(type: Any) -> Any:
    """Return the dtype that one of Python's types, NumPy's types or NumPy's dtypes stands for; anything else unchanged."""
    known = {float: _C.float64, complex: _C.complex128, int: _C.int64, bool: _C.bool}.get(type) if isinstance(type, _type) else None
    if known is not None:
        return known
    if (type.__module__ if isinstance(type, _type) else _type(type).__module__).partition(".")[0] == "numpy":
        import numpy

        return getattr(_C, numpy.dtype(type).name, type)
    return type


def _name(of: _dtype) -> str:
    return str(of).rpartition(".")[2]


class finfo:
    """Numerical limits of a floating-point dtype; for a complex dtype, those of its parts.

    >>> import undertow as ut
    >>> ut.finfo(ut.float32).eps, ut.finfo(ut.float16).max
    (1.1920928955078125e-07, 65504.0)
    """

    bits: int
    dtype: str
    eps: float
    max: float
    min: float
    resolution: float
    smallest_normal: float
    tiny: float
    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")

    def __new__(cls, type: Any = None) -> Any:
        # A stand-in for a missing dtype provides its own limits (as_torch/_standin.py).
        return type.__finfo__() if hasattr(type, "__finfo__") else super().__new__(cls)

    def __init__(self, type: _dtype | None = None) -> None:
        type = _C.get_default_dtype() if type is None else _dtype_of(type)
        if not isinstance(type, _C.dtype):
            raise TypeError(
                f"finfo(): argument 'type' (position 1) must be {_C.dtype.__module__}.dtype, not {type.__class__.__name__}"
            )
        if not (type.is_floating_point or type.is_complex):
            raise TypeError(
                f"{_C.dtype.__module__}.finfo() requires a floating point input type, but got {type}. "
                f"Use {_C.dtype.__module__}.iinfo to handle '{_C.dtype.__module__}.finfo'"
            )
        name = _name(type.to_real() if type.is_complex else type)
        self.dtype = name
        self.bits = (type.to_real() if type.is_complex else type).itemsize * 8
        if name in _FLOAT8:
            self.max, self.eps, self.tiny = _FLOAT8[name]
            self.smallest_normal, self.resolution = self.tiny, 1.0
            self.min = -self.max if type.is_signed else self.tiny
            return
        mantissa, low = _MANTISSA[name], _LOWEST_EXPONENT[name]
        self.eps = 2.0**-mantissa
        self.tiny = self.smallest_normal = 2.0**low
        self.max = (2.0 - 2.0**-mantissa) * 2.0 ** (1 - low)
        self.min = -self.max
        self.resolution = _RESOLUTION[name]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(("finfo", self.dtype))

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, "
            f"dtype={self.dtype})"
        )


class iinfo:
    """Numerical limits of an integer dtype.

    >>> import undertow as ut
    >>> ut.iinfo(ut.int8).min, ut.iinfo(ut.uint8).max
    (-128, 255)
    """

    bits: int
    dtype: str
    max: int
    min: int
    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, type: _dtype) -> None:
        type = _dtype_of(type)
        if not isinstance(type, _C.dtype):
            raise TypeError(
                f"iinfo(): argument 'type' (position 1) must be {_C.dtype.__module__}.dtype, not {type.__class__.__name__}"
            )
        if type.is_floating_point or type.is_complex:
            raise TypeError(
                f"{_C.dtype.__module__}.iinfo() requires an integer input type, but got {type}. "
                f"Use {_C.dtype.__module__}.finfo to handle '{_C.dtype.__module__}.iinfo'"
            )
        if type is _C.bool:
            raise TypeError(f"{type} is not supported by {_C.dtype.__module__}.iinfo")
        self.dtype = _name(type)
        self.bits = type.itemsize * 8
        signed = type.is_signed
        self.max = 2 ** (self.bits - signed) - 1
        self.min = -(2 ** (self.bits - 1)) if signed else 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(("iinfo", self.dtype))

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


def typename(obj: Any, /) -> str:
    """Return the name of an object's type; for a tensor, a name with its dtype.

    >>> import undertow as ut
    >>> ut.typename(ut.ones(1)), ut.typename(3)
    ('undertow.FloatTensor', 'int')
    """
    if isinstance(obj, _C.Tensor):
        return obj.type()
    kind = obj if isinstance(obj, type) or hasattr(obj, "__qualname__") else type(obj)
    module = getattr(kind, "__module__", "") or ""
    name = getattr(kind, "__qualname__", type(obj).__name__)
    return name if module in ("", "builtins", "__builtin__") else f"{module}.{name}"


def package_name() -> str:
    """Return the name that messages begin with: "torch" for a program that runs under as_torch."""
    return str(_C.float32).partition(".")[0]
