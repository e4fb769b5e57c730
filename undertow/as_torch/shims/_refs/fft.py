"""`torch._refs.fft`: the functions of `torch.fft`."""

from __future__ import annotations

import undertow.fft as _operators


def __getattr__(name: str) -> object:
    return getattr(_operators, name)
