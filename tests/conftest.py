"""What every test may count on: the installed package (or the one PYTHONPATH names), and the repository's tools."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# Programs that tests start must not take the source tree in the current folder for the installed package.
os.environ["PYTHONSAFEPATH"] = "1"
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))  # last: an installed package comes before the source tree


@pytest.fixture
def repository() -> Path:
    """The root of the source tree."""
    return ROOT


@pytest.fixture(autouse=True)
def _modes_are_left_as_found():
    """A test that leaves grad mode off, or more workers on, would change every later one."""
    import undertow as ut

    yield
    leftovers = []
    if not ut.is_grad_enabled():
        ut._C._set_grad_enabled(True)
        leftovers.append("grad mode off")
    if ut._C._get_num_workers() != 1:
        ut._C._set_num_workers(1)
        leftovers.append("CPU workers on")
    if ut._C.is_anomaly_enabled():
        ut._C._set_anomaly_enabled(False)
        leftovers.append("anomaly mode on")
    assert not leftovers, f"the test left {', '.join(leftovers)}"
