"""examples/cpp builds against the installed package and runs; the installed headers are complete, and compile alone without warnings."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
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
    assert "second derivative: tensor([18., 24.])" in out
    assert "error: element 1 of tensors does not require grad" in out
    assert out.endswith("ok\n")


@installed
def test_the_first_program_of_the_documentation_compiles_and_trains(tmp_path, repository):
    compiler = os.environ.get("CXX", "c++")
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler} on PATH")
    program = re.search(r"```cpp\n(.*?)```", (repository / "docs/cpp.md").read_text(), re.S)
    (tmp_path / "train.cpp").write_text(program[1])
    library = cpp_extension.library_paths()[0]
    flags = ["-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}", f"-L{library}", "-lundertow", f"-Wl,-rpath,{library}"]
    subprocess.run([compiler, tmp_path / "train.cpp", *flags, "-o", tmp_path / "train"], check=True)
    lines = subprocess.run([tmp_path / "train"], check=True, capture_output=True, text=True).stdout.splitlines()
    first, last = (float(line.split(": ")[1]) for line in (lines[0], lines[4]))
    assert last < 0.1 * first


@installed
def test_every_installed_header_compiles_alone_without_warnings(tmp_path):
    compiler = os.environ.get("CXX", "c++")
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler} on PATH")
    pybind11, nanobind = pytest.importorskip("pybind11"), pytest.importorskip("nanobind")
    foreign = [sysconfig.get_path("include"), pybind11.get_include(), nanobind.include_dir()]  # for the headers of extensions
    torchs = INCLUDE / "as_torch"  # an include folder of its own
    headers = sorted(INCLUDE.rglob("*.h"))
    assert headers
    failed = []
    for h in headers:
        if forward := re.fullmatch(r"#pragma once\n#include <(.+)>\n", h.read_text()):
            assert (torchs / forward[1]).exists(), h
            continue
        places = [torchs, INCLUDE] if h.is_relative_to(torchs) else [INCLUDE]
        source = tmp_path / "one.cpp"
        source.write_text(f'#include "{h.relative_to(places[0])}"\n')
        folders = [*(f"-I{place}" for place in places), *(f"-isystem{place}" for place in foreign)]
        done = subprocess.run([compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", *folders, source], capture_output=True, text=True)
        if done.returncode:
            failed.append(f"{h.relative_to(INCLUDE)}: {done.stderr.splitlines()[0] if done.stderr else ''}")
    assert not failed, "\n".join(failed)


@installed
def test_exactly_the_headers_that_the_public_ones_reach_are_installed():
    found = {p.relative_to(INCLUDE).as_posix() for p in INCLUDE.rglob("*") if p.suffix in (".h", ".inc")}
    reached = {name for name in found if name.startswith(("undertow/", "as_torch/")) and name.endswith(".h")}
    waiting = list(reached)
    while waiting:
        for name in re.findall(r'^\s*#\s*include\s+[<"]([^">]+)[">]', (INCLUDE / waiting.pop()).read_text(), re.M):
            if name.split("/")[0] in ("core", "generated", "undertow") and name not in reached:
                reached.add(name)
                waiting.append(name)
    assert reached == found


@installed
def test_a_program_for_another_abi_does_not_link(tmp_path):
    compiler = os.environ.get("CXX", "c++")
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler} on PATH")
    source = tmp_path / "other.cpp"
    source.write_text('extern "C" const int undertow_abi_version_0;\nint main() { return undertow_abi_version_0; }\n')
    library = f"-L{cpp_extension.library_paths()[0]}"
    done = subprocess.run([compiler, source, library, "-lundertow", "-o", tmp_path / "other"], capture_output=True, text=True)
    assert done.returncode and "undertow_abi_version_0" in done.stderr
