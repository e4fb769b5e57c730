"""`torch._refs.linalg`: the functions of `torch.linalg`."""

from __future__ import annotations

import undertow.linalg as _operators


def __getattr__(name: str) -> object:
    return getattr(_operators, name)
