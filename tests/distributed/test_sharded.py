"""Training with divided parameters over real processes: each check of programs/sharded.py with 2 and 3 ranks."""

from __future__ import annotations

import pytest
from ranks import names_of_checks, needs_mpi, outcome_of

pytestmark = [pytest.mark.mpi, needs_mpi]


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("check", names_of_checks("sharded"))
def test_sharded(check, size):
    assert outcome_of("sharded", check, size) == "ok"
