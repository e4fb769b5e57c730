"""Tensor parallel layers and pipelines over real processes: each check of programs/model_parallel.py with 2 and 3 ranks."""

from __future__ import annotations

import pytest
from ranks import names_of_checks, needs_mpi, outcome_of

pytestmark = [pytest.mark.mpi, needs_mpi]


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("check", names_of_checks("model_parallel"))
def test_model_parallel(check, size):
    assert outcome_of("model_parallel", check, size) == "ok"
