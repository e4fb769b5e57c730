"""Fixtures and options for all tests; makes the package (installed, or on PYTHONPATH) and the repository's tools importable."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
import torch_answers
from paths import ROOT
from skipped_tests import sentence

# Programs that tests start must not mistake the source tree in the current folder for the installed package.
os.environ["PYTHONSAFEPATH"] = "1"
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))  # last: an installed package comes before the source tree


@pytest.fixture
def repository() -> Path:
    """The root of the source tree."""
    return ROOT


@pytest.fixture(scope="session", autouse=True)
def _temporary_files_are_removed(tmp_path_factory):
    """Examples in the documentation and programs that tests start use the system's folder for temporary files; here it is one that is removed."""
    folder = tmp_path_factory.mktemp("temporary")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        patch.setattr(tempfile, "tempdir", None)  # it is read again
        yield
    shutil.rmtree(folder, ignore_errors=True)


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


@pytest.fixture
def same_for_any_thread_count():
    """same_for_any_thread_count(f) fails unless f() returns equal results with one, two and three threads."""
    import undertow as ut

    def check(f) -> None:
        results = []
        for threads in (1, 2, 3):
            ut.set_num_threads(threads)
            results.append(f())
        assert results[0] == results[1] == results[2]

    before = ut.get_num_threads()
    yield check
    ut.set_num_threads(before)


def pytest_addoption(parser) -> None:
    parser.addoption("--write-torch-answers", action="store_true", help="store what PyTorch answers (tests/data/make_references.py uses it)")


_WRITTEN = pytest.StashKey[dict]()


@pytest.fixture
def same_as_torch(request) -> torch_answers.Answers:
    """same_as_torch(scenario) fails unless scenario(undertow) has the same outcome as scenario(torch); see torch_answers.py."""
    writing = request.config.getoption("--write-torch-answers")
    written = request.config.stash.setdefault(_WRITTEN, {}) if writing else None
    return torch_answers.Answers(request.path.stem, request.node.name, written)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session, exitstatus):
    """Stores the requested answers, and ends the run with one line that says what was skipped and how to run it."""
    result = yield
    if (written := session.config.stash.get(_WRITTEN, None)) and exitstatus == 0:
        import torch

        torch_answers.write(written, torch.__version__.split("+")[0])
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")  # none in the processes that xdist starts
    if reporter is not None and (line := sentence(reporter.stats.get("skipped", []), ROOT)):
        reporter.write_line(line)
    return result
