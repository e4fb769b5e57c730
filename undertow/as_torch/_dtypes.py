"""torch dtypes that Undertow's tensors do not support: programs use them in tables, with torch's sizes and limits.

Creating a tensor of such a dtype, or converting to it, raises an error with the dtype's name.
"""

from __future__ import annotations

import functools
import re
from types import SimpleNamespace
from typing import Any

import undertow

_LIMITS = {  # largest, eps, smallest normal, resolution
    "float8_e4m3fn": (448.0, 0.125, 2.0**-6, 1.0),
    "float8_e4m3fnuz": (240.0, 0.125, 2.0**-7, 1.0),
    "float8_e5m2": (57344.0, 0.25, 2.0**-14, 1.0),
    "float8_e5m2fnuz": (57344.0, 0.125, 2.0**-15, 1.0),
    "float8_e8m0fnu": (2.0**127, 1.0, 2.0**-127, 1.0),
    "complex32": (65504.0, 2.0**-10, 2.0**-14, 1e-3),
}
_SIZES = {"complex32": 4, "uint16": 2, "uint32": 4, "uint64": 8, "qint32": 4, "bits16": 2, **dict.fromkeys(list(_LIMITS)[:5], 1)}
_BYTES = re.compile(r"u?int[1-7]|bits(8|1x8|2x4|4x2)|qu?int8|quint(4x2|2x4)|float4_e2m1fn_x2")


class _Named:
    """A dtype with a name, a size and limits, but no tensors."""

    name: str

    __class__ = property(lambda self: undertow.dtype)  # tables check that each is one
    itemsize = property(lambda self: _SIZES.get(self.name, 1))
    is_floating_point = property(lambda self: self.name.startswith("float"))
    is_complex = property(lambda self: self.name == "complex32")
    is_signed = property(lambda self: self.name[0] not in "bu" and self.name != "float8_e8m0fnu")

    def __finfo__(self) -> Any:
        if self.name not in _LIMITS:
            raise TypeError(f"torch.finfo() has no limits for {self!r}")
        largest, eps, tiny, resolution = _LIMITS[self.name]
        least = -largest if self.is_signed else tiny
        bits = 16 if self.is_complex else 8
        return SimpleNamespace(dtype=self.name, bits=bits, max=largest, min=least, eps=eps, tiny=tiny, smallest_normal=tiny, resolution=resolution)

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> Any:
        return named, (self.name,)


def named(name: str) -> Any:
    """Return the dtype of that name, always the same object; None if torch has no such dtype."""
    return _made({"chalf": "complex32", "bit": "uint1"}.get(name, name))


@functools.cache
def _made(name: str) -> Any:
    if name not in _SIZES and not _BYTES.fullmatch(name):
        return None
    # Error messages contain the class name.
    return type(f"torch.{name}, of which Undertow has no tensors", (_Named,), {"name": name})()
