"""Two processes of torch with gloo and two of ours with MPI compute the same: reductions, copies, errors, groups, training."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parents[1] / "distributed"))
from ranks import LIMIT, environment, needs_mpi, run

pytestmark = [pytest.mark.mpi, needs_mpi]
PROGRAM = str(Path(__file__).with_name("distributed_scenarios.py"))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    theirs = [
        subprocess.Popen([sys.executable, PROGRAM, "torch", str(folder), str(r)], env=environment(), stderr=subprocess.PIPE, text=True)
        for r in range(2)
    ]
    ours = run(2, PROGRAM, "undertow", str(folder))
    outputs = [process.communicate(timeout=LIMIT)[1] for process in theirs]
    assert ours.returncode == 0, ours.stderr
    assert [process.returncode for process in theirs] == [0, 0], outputs
    return {(name, r): json.loads((folder / f"{name}.{r}.json").read_text()) for name in ("undertow", "torch") for r in range(2)}


def same(ours, theirs, tolerance):
    if isinstance(theirs, float):
        return np.isclose(ours, theirs, rtol=tolerance, atol=tolerance, equal_nan=True)
    if isinstance(theirs, list):
        return len(ours) == len(theirs) and all(same(a, b, tolerance) for a, b in zip(ours, theirs))
    return ours == theirs


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize(
    ("scenario", "tolerance"), [("reductions", 0), ("copies", 0), ("errors", 0), ("groups", 0), ("training", 1e-9), ("uneven", 1e-12)]
)
def test_two_processes_compute_what_torch_computes(results, scenario, rank, tolerance):
    ours, theirs = results["undertow", rank][scenario], results["torch", rank][scenario]
    assert len(ours) == len(theirs)
    different = [(place, a, b) for place, (a, b) in enumerate(zip(ours, theirs)) if not same(a, b, tolerance)]
    assert not different
