"""torch._VF's place: the operators under the names by which layers written for torch call them."""

from __future__ import annotations

import undertow
from undertow.as_torch import shims


def __getattr__(name: str) -> object:
    return getattr(undertow if hasattr(undertow, name) else shims, name)
