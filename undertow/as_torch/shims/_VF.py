"""`torch._VF`: the operators, under the names that layers written for torch use."""

from __future__ import annotations

import undertow
from undertow.as_torch import shims


def __getattr__(name: str) -> object:
    return getattr(undertow if hasattr(undertow, name) else shims, name)
