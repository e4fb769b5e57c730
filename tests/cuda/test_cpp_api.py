"""The C++ API finds the GPU: its test program runs on the emulated driver, in a process of its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import emulated_cuda
from frontend_programs import frontend_program


def test_the_cpp_api_computes_on_the_emulated_driver(tmp_path: Path):
    environment = {**emulated_cuda.environment(), "UNDERTOW_CUDA_CACHE": str(tmp_path)}
    done = subprocess.run([frontend_program("test_cuda")], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "cuda, with a GPU: ok\n"), done.stdout + done.stderr
