"""torch._VF's place: the operators under the names by which layers written for torch call them."""

from __future__ import annotations


def __getattr__(name: str) -> object:
    import undertow

    return getattr(undertow, name)
