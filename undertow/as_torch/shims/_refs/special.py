"""`torch._refs.special`: the functions of `torch.special`."""

from __future__ import annotations

import undertow.special as _operators


def __getattr__(name: str) -> object:
    return getattr(_operators, name)
