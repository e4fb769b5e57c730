"""Tests of user-defined operators that run with Undertow and, where it is installed, with torch: the same program must do the same."""

from __future__ import annotations

from itertools import count

import pytest

import undertow as ut

try:
    import torch
except ImportError:  # torch is optional in tests
    torch = None

LIBRARIES = [ut, torch] if torch else [ut]
both = pytest.mark.parametrize("lib", LIBRARIES, ids=["undertow", "torch"][: len(LIBRARIES)])

_numbers = count()


def fresh_namespace() -> str:
    """Return a namespace that no other test uses."""
    return f"own_namespace_{next(_numbers)}"
