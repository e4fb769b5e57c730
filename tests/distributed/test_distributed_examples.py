"""The programs of examples/distributed run: under mpiexec, under the launcher, and again from their checkpoint on fewer processes."""

from __future__ import annotations

import subprocess
import sys

import pytest
from ranks import LIMIT, environment, needs_mpi, run

pytestmark = [pytest.mark.mpi, needs_mpi]


def loss_of(output: str) -> float:
    return float(output.split("loss")[1])


def test_data_parallel_training_fits(repository):
    done = run(2, str(repository / "examples/distributed/data_parallel.py"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 processes, loss") and loss_of(done.stdout) < 1e-3


def test_divided_training_continues_from_its_checkpoint_on_one_process(repository, tmp_path):
    program = str(repository / "examples/distributed/sharded.py")
    command = [sys.executable, "-m", "undertow.distributed.run", "--nproc-per-node"]
    first = subprocess.run([*command, "2", program, str(tmp_path)], env=environment(), capture_output=True, text=True, timeout=LIMIT)
    assert first.returncode == 0, first.stderr
    assert first.stdout.startswith("2 processes") and loss_of(first.stdout) < 0.05
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(index.read_text().replace('"epoch": 10', '"epoch": 9'))
    again = subprocess.run([*command, "1", program, str(tmp_path)], env=environment(), capture_output=True, text=True, timeout=LIMIT)
    assert again.returncode == 0, again.stderr
    assert again.stdout.startswith("1 processes") and loss_of(again.stdout) < 0.05
