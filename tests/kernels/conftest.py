"""One thread and two, for tests of kernels that divide their work."""

from __future__ import annotations

import pytest

import undertow as ut


@pytest.fixture(params=[1, 2])
def threads(request):
    before = ut.get_num_threads()
    ut.set_num_threads(request.param)
    yield request.param
    ut.set_num_threads(before)
