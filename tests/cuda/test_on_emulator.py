"""The tests of tensors, streams, memory, optimizers and NCCL pass on the emulated driver, in a process of its own: this one keeps having no GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import emulated_cuda
import pytest

import undertow as ut

HERE = Path(__file__).resolve().parent


@pytest.mark.slow
@pytest.mark.skipif(ut.cuda.is_available(), reason="there is a GPU, or the emulator runs already")
@pytest.mark.parametrize("file", ("test_tensors.py", "test_streams_and_memory.py", "test_cuda_optim.py", "test_cuda_nccl.py"))
def test_the_tests_of_the_backend_pass_on_the_emulated_driver(file: str, tmp_path: Path):
    environment = {**emulated_cuda.environment(), "UNDERTOW_CUDA_CACHE": str(tmp_path), "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE / file)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=HERE.parents[1])
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert " passed" in done.stdout and "skipped" not in done.stdout
