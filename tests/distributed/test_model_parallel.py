"""Tensor parallel layers and pipelines over real processes: each check of programs/model_parallel.py with 2 and 3 ranks."""

from __future__ import annotations

import pytest
from ranks import failures, needs_mpi

pytestmark = [pytest.mark.mpi, needs_mpi]


@pytest.mark.parametrize("size", [2, 3])
def test_divided_models_equal_the_whole_model(size):
    assert failures("model_parallel", size) == {}
