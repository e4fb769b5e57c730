"""The collectives over real processes: each check of programs/collectives.py with 2, 3 and 4 ranks."""

from __future__ import annotations

import pytest
from ranks import failures, needs_mpi

pytestmark = [pytest.mark.mpi, needs_mpi]


@pytest.mark.parametrize("size", [2, 3, 4])
def test_collectives_compute_the_same_on_every_rank(size):
    assert failures("collectives", size) == {}
