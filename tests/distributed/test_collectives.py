"""The collectives over real processes: each check of programs/collectives.py with 2, 3 and 4 ranks."""

from __future__ import annotations

import pytest
from ranks import names_of_checks, needs_mpi, outcome_of

pytestmark = [pytest.mark.mpi, needs_mpi]


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("check", names_of_checks("collectives"))
def test_collectives(check, size):
    assert outcome_of("collectives", check, size) == "ok"
