"""`torch._refs`: torch's implementations of its operators in Python, against which its tests compare; here the operators themselves."""

from __future__ import annotations

import undertow
from undertow.as_torch import shims


class _Conversions:
    """`torch._refs._conversions`: `complex`, `polar`, and the conversions that tensors have as methods."""

    def __getattr__(self, name: str) -> object:
        return getattr(undertow if name in ("complex", "polar") else undertow.Tensor, name)


_conversions = _Conversions()


def __getattr__(name: str) -> object:
    return getattr(next((home for home in (undertow, undertow.Tensor) if hasattr(home, name)), shims), name)
