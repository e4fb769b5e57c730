"""Tests of the CUDA backend. Those marked `cuda` need a GPU, or the emulator that UNDERTOW_CUDA_DRIVER names; otherwise they are skipped."""

from __future__ import annotations

import os
from collections import defaultdict

import pytest

import undertow as ut


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("cuda")]
    if not marked or ut.cuda.is_available():
        return
    skip = pytest.mark.skip(reason=f"no GPU: {ut._C._cuda_missing()}")
    for item in marked:
        item.add_marker(skip)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    report = yield
    # After a fault of a kernel, every later call of this process fails: let another process run the other tests.
    if report.when == "call" and report.failed and item.get_closest_marker("cuda") and "PYTEST_XDIST_WORKER" in os.environ:
        try:
            ut.cuda.synchronize()
        except ut.AcceleratorError:
            os._exit(70)
        except (RuntimeError, IndexError):  # what a kernel reported: it ends with this call
            pass
    return report


def pytest_terminal_summary(terminalreporter) -> None:
    """One line for each operator that differs from the CPU, by the first message; see test_operators.py."""
    rows = defaultdict(list)
    for report in terminalreporter.stats.get("failed", []):
        for name, found in getattr(report, "user_properties", []):
            if name == "differences":
                rows[found["message"]].append(found)
    if not rows:
        return
    terminalreporter.section("operators that differ from the CPU")
    for message, found in sorted(rows.items(), key=lambda row: -len(row[1])):
        terminalreporter.line(f"{len(found):4} {message[:220]}")
        for one in found[:60]:
            terminalreporter.line(f"       {one['operator']} [{one['dtypes']}] {one['what']}")


@pytest.fixture(autouse=True)
def _float32_is_computed_in_float32():
    """Convolutions may use TF32 otherwise, which comparisons with the CPU would see."""
    if not ut.cuda.is_available():
        yield
        return
    with ut.backends.cudnn.flags(allow_tf32=False):
        yield


@pytest.fixture
def cuda() -> ut.device:
    """The device; at the end, everything issued to it is done."""
    yield ut.device("cuda:0")
    ut.cuda.synchronize()
