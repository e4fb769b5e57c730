"""`torch._refs.nn.functional`: the functions of `torch.nn.functional`."""

from __future__ import annotations

import undertow.nn.functional as _operators


def __getattr__(name: str) -> object:
    return getattr(_operators, name)
