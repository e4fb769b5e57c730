"""torch dtypes that Undertow's tensors do not support: programs use them in tables, with torch's sizes and limits.

Creating a tensor of such a dtype, or converting to it, raises an error with the dtype's name.
"""

from __future__ import annotations

import functools
import re
from typing import Any

import undertow

_SIZES = {"qint32": 4, "bits16": 2}
_BYTES = re.compile(r"u?int[1-7]|bits(8|1x8|2x4|4x2)|qu?int8|quint(4x2|2x4)|float4_e2m1fn_x2")


class _Named:
    """A dtype with a name, a size and limits, but no tensors."""

    name: str

    __class__ = property(lambda self: undertow.dtype)  # tables check that each is one
    itemsize = property(lambda self: _SIZES.get(self.name, 1))
    is_floating_point = property(lambda self: self.name.startswith("float"))
    is_complex = False
    is_signed = property(lambda self: self.name[0] not in "bu")

    def __finfo__(self) -> Any:
        raise TypeError(f"torch.finfo() has no limits for {self!r}")

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> Any:
        return named, (self.name,)


def named(name: str) -> Any:
    """Return the dtype of that name, always the same object; None if torch has no such dtype."""
    return _made({"bit": "uint1"}.get(name, name))


@functools.cache
def _made(name: str) -> Any:
    if name not in _SIZES and not _BYTES.fullmatch(name):
        return None
    # Error messages contain the class name.
    return type(f"torch.{name}, of which Undertow has no tensors", (_Named,), {"name": name})()
