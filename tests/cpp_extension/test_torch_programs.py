"""C++ programs and an extension that were written for torch compile and run under as_torch, unchanged."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import undertow

PROGRAMS = Path(__file__).with_name("torch_programs")
BUILD = """
import sys
from torch.utils.cpp_extension import load
print(load("program", [sys.argv[1]], build_directory=sys.argv[2], extra_cflags=["-O0"], is_standalone=True, is_python_module=False, use_pch=False))
"""
pytestmark = pytest.mark.slow  # each compiles torch/torch.h or torch/extension.h


def run(folder, *command):
    folder.chmod(0o700)
    environment = {**os.environ, "PYTHONPATH": str(Path(undertow.__file__).parents[1])}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("name", ["autograd", "dcgan", "digits", "names", "regression", "training", "transforms"])
def test_a_libtorch_program_runs(tmp_path, name):
    (tmp_path / "build.py").write_text(BUILD)
    path = run(tmp_path, sys.executable, "-m", "undertow.as_torch", "build.py", str(PROGRAMS / f"{name}.cpp"), str(tmp_path))
    assert run(tmp_path, path) == f"{name}: ok"


@pytest.mark.parametrize("name", ["lltm", "muladd"])
def test_an_extension_in_the_style_of_the_tutorials_runs(tmp_path, name):
    pytest.importorskip("pybind11")
    out = run(tmp_path, sys.executable, "-m", "undertow.as_torch", str(PROGRAMS / f"{name}.py"), str(PROGRAMS / f"{name}.cpp"), str(tmp_path))
    assert out == f"{name}: ok"
