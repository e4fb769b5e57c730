"""examples/cpp builds against the installed package and runs; every installed header compiles alone."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from undertow.utils import cpp_extension

pytestmark = pytest.mark.slow
INCLUDE = Path(cpp_extension.include_paths()[0])
installed = pytest.mark.skipif(not INCLUDE.is_dir(), reason="undertow is used from its source tree: no headers are installed")


@installed
def test_the_example_builds_against_the_installed_package_and_runs(tmp_path, repository):
    if not shutil.which("cmake"):
        pytest.skip("no cmake on PATH")
    prefix = f"-DCMAKE_PREFIX_PATH={cpp_extension.cmake_prefix_path()}"
    subprocess.run(["cmake", "-S", repository / "examples/cpp", "-B", tmp_path, prefix], check=True)
    subprocess.run(["cmake", "--build", tmp_path], check=True)
    out = subprocess.run([tmp_path / "example"], check=True, capture_output=True, text=True).stdout
    assert "second derivative: 18.0 24.0" in out
    assert out.endswith("ok\n")


@installed
def test_every_installed_header_compiles_alone(tmp_path):
    compiler = os.environ.get("CXX", "c++")
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler} on PATH")
    # The kernels' *.isa headers need a namespace macro and are not installed.
    headers = [h for h in sorted(INCLUDE.rglob("*.h")) if "kernels" not in h.parts]
    assert headers
    failed = []
    for h in headers:
        source = tmp_path / "one.cpp"
        source.write_text(f'#include "{h.relative_to(INCLUDE)}"\n')
        done = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", f"-I{INCLUDE}", source], capture_output=True, text=True)
        if done.returncode:
            failed.append(f"{h.relative_to(INCLUDE)}: {done.stderr.splitlines()[0] if done.stderr else ''}")
    assert not failed, "\n".join(failed)
