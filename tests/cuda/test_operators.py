"""Every operator of the tables gives on a GPU what it gives on the CPU: values and gradients, in all dtypes.

UNDERTOW_CUDA_DTYPES (letters as in tests/ops/dtypes.txt) compares fewer dtypes: with "f" the emulator takes minutes.
"""

from __future__ import annotations

import os

import pytest
from operator_differences import LETTERS, differences, operators
from samples import DTYPES

pytestmark = [pytest.mark.cuda, pytest.mark.filterwarnings("ignore")]
CHOSEN = tuple(d for d in DTYPES if LETTERS[d] in os.environ.get("UNDERTOW_CUDA_DTYPES", "".join(LETTERS.values())))


@pytest.mark.parametrize("key", operators())
def test_the_result_on_a_gpu_is_that_of_the_cpu(key: str, record_property):
    found = differences(key, CHOSEN)
    if not found:
        return
    letters = "".join(dict.fromkeys(LETTERS[d.dtype] for d in found))
    first = found[0]
    record_property("differences", {"operator": key, "dtypes": letters, "what": first.what, "message": first.message})
    pytest.fail("\n".join(f"{d.dtype}: {d.what}: {d.message}" for d in found), pytrace=False)
