"""The default number of threads: the environment, the affinity mask, and the effect of wrong values.

Quotas of control groups are tested from C++ (tests/cpp/test_cpu_limit.cpp), on files that the test writes.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import undertow

SHOW = "import undertow; print(undertow.get_num_threads())"


def run(code: str, *options: str, **variables: str) -> subprocess.CompletedProcess:
    env = {k: v for k, v in os.environ.items() if k not in ("OMP_NUM_THREADS", "UNDERTOW_NUM_THREADS")}
    return subprocess.run([sys.executable, *options, "-c", code], env={**env, **variables}, capture_output=True, text=True)


def test_the_default_is_the_number_of_available_cpus():
    done = run("import undertow; print(undertow.get_num_threads(), undertow._C._cpu_limits()['available'])")
    threads, available = done.stdout.split()
    assert threads == available and done.stderr == ""


@pytest.mark.parametrize(
    "variables, threads",
    [
        ({"OMP_NUM_THREADS": "3"}, "3"),
        ({"OMP_NUM_THREADS": "5,2"}, "5"),
        ({"UNDERTOW_NUM_THREADS": "7"}, "7"),
        ({"UNDERTOW_NUM_THREADS": "7", "OMP_NUM_THREADS": "3"}, "7"),
        ({"UNDERTOW_NUM_THREADS": "", "OMP_NUM_THREADS": "3"}, "3"),
        ({"UNDERTOW_NUM_THREADS": "99999"}, "1024"),
    ],
)
def test_the_environment_sets_the_number(variables, threads):
    done = run(SHOW, "-W", "error", **variables)
    assert (done.stdout.strip(), done.stderr) == (threads, "")


@pytest.mark.parametrize("value", ["0", "-1", "many", "2.5"])
def test_a_wrong_value_warns_at_import_and_is_ignored(value):
    done = run(SHOW, UNDERTOW_NUM_THREADS=value, OMP_NUM_THREADS="6")
    assert done.stdout.strip() == "6"
    assert f"UserWarning: UNDERTOW_NUM_THREADS: expects a positive integer: got '{value}'; the variable is ignored" in done.stderr


def test_a_wrong_value_is_an_error_where_warnings_are():
    done = run(SHOW, "-W", "error", OMP_NUM_THREADS="none")
    assert done.returncode != 0 and "OMP_NUM_THREADS: expects a positive integer" in done.stderr


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system has no affinity masks")
def test_the_affinity_mask_limits_the_default():
    done = run("import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n" + SHOW)
    assert done.stdout.strip() == "1"


def test_a_call_overrides_the_environment():
    assert run("import undertow; undertow.set_num_threads(2); print(undertow.get_num_threads())", UNDERTOW_NUM_THREADS="5").stdout.strip() == "2"


def test_results_are_bitwise_equal_with_more_threads_than_cpus():
    code = "import undertow as ut; ut.manual_seed(0); print(ut.randn(300, 300).matmul(ut.randn(300, 300)).sum().item().hex())"
    assert run(code, UNDERTOW_NUM_THREADS="1").stdout == run(code, UNDERTOW_NUM_THREADS="5").stdout != ""
    assert undertow.get_num_threads() >= 1
