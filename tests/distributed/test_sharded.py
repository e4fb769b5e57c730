"""Training with divided parameters over real processes: each check of programs/sharded.py with 2 and 3 ranks."""

from __future__ import annotations

import pytest
from ranks import failures, needs_mpi

pytestmark = [pytest.mark.mpi, needs_mpi]


@pytest.mark.parametrize("size", [2, 3])
def test_divided_training_equals_one_process(size):
    assert failures("sharded", size) == {}


def test_models_are_divided_along_two_dimensions_of_a_mesh():
    assert failures("two_dimensions", 4) == {}
