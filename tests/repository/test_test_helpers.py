"""The test helpers: stored answers detect differences, the last line of a run reports skipped tests, temporary files are removed."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import torch_answers
from paths import ROOT
from skipped_tests import sentence, torch_requirement

import undertow as ut

SCENARIOS = {
    "the same": (lambda L: [1.0, L.arange(100.0), "a"], True),
    "a number": (lambda L: [1.1, L.arange(100.0), "a"], False),
    "one element of a large tensor": (lambda L: [1.0, L.arange(100.0).index_fill(0, L.tensor([37]), 37.1), "a"], False),
    "two elements exchanged": (lambda L: [1.0, L.arange(100.0)[L.tensor([1, 0, *range(2, 100)])], "a"], False),
    "a dtype": (lambda L: [1.0, L.arange(100.0, dtype=L.float64), "a"], False),
    "a shape": (lambda L: [1.0, L.arange(100.0).reshape(10, 10), "a"], False),
    "a text": (lambda L: [1.0, L.arange(100.0), "b"], False),
    "one more": (lambda L: [1.0, L.arange(100.0), "a", None], False),
    "an error": (lambda L: L.ones(2) + L.ones(3), False),
}


@pytest.mark.parametrize("what", SCENARIOS)
def test_a_scenario_with_another_result_is_detected(what):
    kept = torch_answers.encode(torch_answers.ending(SCENARIOS["the same"][0], ut, 0))
    scenario, same = SCENARIOS[what]
    assert (torch_answers._unlike(torch_answers.ending(scenario, ut, 0), kept, 1e-6, 1e-6, whole_messages=False) == []) is same


def test_errors_are_compared_by_class_and_message():
    kept = torch_answers.encode(torch_answers.ending(lambda L: L.ones(2) + L.ones(3), ut, 0))
    assert kept["error"][0] == "RuntimeError"
    unlike = lambda error, **more: torch_answers._unlike({"error": error, "warnings": []}, {"error": ["ValueError", "no such name: x."], "warnings": []}, 0, 0, **more)
    assert unlike(["ValueError", "no such name: y"], whole_messages=False) == []
    assert unlike(["ValueError", "no such name: y"], whole_messages=True)
    assert unlike(["ValueError", "no such name: x; try z"], whole_messages=True) == []
    assert unlike(["TypeError", "no such name: x"], whole_messages=False)
    assert torch_answers._unlike({"value": 1, "warnings": [["UserWarning", "careful"]]}, {"value": 1, "warnings": []}, 0, 0, whole_messages=False)


def test_a_test_without_a_stored_answer_says_how_to_record_one():
    ask = torch_answers.Answers("no_such_file", "test_nothing", None)
    with pytest.raises(AssertionError, match="run tests/data/make_references.py, which needs torch"):
        ask(lambda L: 1)


class TestReport:
    """The part of pytest's report that is read."""

    __test__ = False

    def __init__(self, nodeid: str, reason: str):
        self.nodeid, self.longrepr = nodeid, ("file", 1, f"Skipped: {reason}")


class CollectReport(TestReport):
    __test__ = False


def test_the_last_line_counts_functions_by_reason():
    reports = [
        TestReport("tests/a.py::test_x[1]", "could not import 'torch'"),
        TestReport("tests/a.py::test_x[2]", "could not import 'torch'"),
        CollectReport("tests/parity/test_einsum_parity.py", "PyTorch is the oracle here"),
        TestReport("tests/b.py::test_y", "event files are written by the tensorboard package"),
        TestReport("tests/c.py::test_z", "another reason"),
    ]
    line = sentence(reports, ROOT)
    inside = (ROOT / "tests/parity/test_einsum_parity.py").read_text().count("\ndef test_")
    assert line.startswith(f"skipped: {1 + inside} test functions that compare with PyTorch (make parity-deps, or pip install {torch_requirement(ROOT)} expecttest); ")
    assert "1 test function that needs tensorboard (pip install tensorboard pillow)" in line and line.endswith("1 test function (another reason)")
    assert torch_requirement(ROOT).startswith("torch==") and sentence([], ROOT) == ""


def test_temporary_files_of_started_programs_are_in_pytests_own_folder(tmp_path_factory):
    program = "import tempfile; print(tempfile.gettempdir())"
    folder = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.strip()
    assert Path(folder).is_relative_to(tmp_path_factory.getbasetemp())
    assert tempfile.gettempdir() == folder
