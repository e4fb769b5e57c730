"""Fixtures of the tests of user-defined operators."""

from __future__ import annotations

import pytest

import undertow as ut


@pytest.fixture
def below_autograd(lib):
    """The context manager in which an Autograd kernel calls its own operator."""
    if lib is not ut:
        return lib._C._AutoDispatchBelowAutograd
    from undertow._library._parts import BelowAutograd

    return BelowAutograd
