"""Stored reference values still match the installed PyTorch, and each of them is used by a test.

The answers of torch_answers.py are compared with PyTorch by the tests that use them; this file checks the other stored values.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch, whose answers are stored, is not installed")
import torch_answers

TESTS = Path(__file__).resolve().parents[1]
VERSION = torch.__version__.split("+")[0]
same_version = pytest.mark.skipif(VERSION != "2.13.0", reason=f"the references are those of torch 2.13.0, and {VERSION} is installed")


def of_tests(path: str):
    """A module of the tests, by its path."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, TESTS / path)
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(spec.name, module)  # classes are found by their module's name
    module = sys.modules[spec.name]
    spec.loader.exec_module(module)
    return module


def test_every_set_of_answers_names_its_version_and_its_tests():
    sources = {p.stem: p for p in TESTS.rglob("test_*.py")}
    files = sorted(torch_answers.FOLDER.glob("*.json"))
    assert len(files) > 20
    for file in files:
        told = json.loads(file.read_text())
        assert told["torch"] == "2.13.0", file.name
        functions = {f.name for f in ast.walk(ast.parse(sources[file.stem].read_text())) if isinstance(f, ast.FunctionDef)}
        assert {name.partition("[")[0] for name in told["answers"]} <= functions, f"{file.name} holds answers that no test uses"


@same_version
def test_the_stored_public_names_match_torch():
    # In a fresh process: a package also shows the submodules that somebody has imported.
    program = "import json, torch_public_names as names; print(json.dumps([names.installed(), names.stored()]))"
    folder = TESTS / "as_torch"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], cwd=folder, env={**os.environ, "PYTHONPATH": str(folder)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    installed, stored = json.loads(done.stdout)
    assert installed == stored


@same_version
@pytest.mark.slow
@pytest.mark.parametrize("name", ["functorch_idioms", "idioms", "module_idioms", "module_utils_idioms", "rare_idioms"])
def test_the_programs_still_print_this_on_torch(name):
    idioms = of_tests("as_torch/test_idioms.py")
    program = TESTS / "as_torch" / f"{name}.py"
    idioms.compare(idioms.lines(program), (idioms.PRINTED / f"{name}.txt").read_text().splitlines())


@same_version
def test_the_stored_files_match_what_torch_writes():
    written = of_tests("interop/written_by_torch.py")
    torch.manual_seed(0)
    made = written.contents(torch)
    assert sorted(p.name for p in written.FOLDER.iterdir()) == sorted(made)
    again = torch.load(written.FOLDER / "state.pt", weights_only=True)
    assert torch.equal(again["model"]["weight"], made["state.pt"]["model"]["weight"]) and torch.equal(again["strided"], made["state.pt"]["strided"])
