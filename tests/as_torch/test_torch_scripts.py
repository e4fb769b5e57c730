"""The programs of examples/torch_scripts run on Undertow and, if PyTorch is installed, print the same losses as with it.

They start from the same seed, so from the same weights: the comparison is in float64, where rounding stays small.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import undertow

SCRIPTS = Path(__file__).resolve().parents[2] / "examples" / "torch_scripts"
PROGRAMS = {
    "classifier.py": ["--batch", "16"],
    "classifier.py cnn": ["--model", "cnn", "--batch", "16"],
    "char_rnn.py": ["--width", "16", "--length", "12", "--batch", "4"],
    "vae.py": ["--batch", "16"],
    "gan.py": ["--batch", "32"],
    "reinforce.py": [],
    "gpt.py": ["--width", "16", "--context", "16", "--batch", "4"],
    "style.py": ["--size", "16"],
    "translate.py": ["--batch", "8", "--width", "16"],
    "ppo.py": ["--runs", "8", "--length", "8"],
    "maml.py": ["--tasks", "3", "--shots", "5"],
    "physics.py": ["--points", "50"],
    "flow.py": ["--batch", "32"],
    "diffusion.py": ["--batch", "8"],
    "words.py": ["--width", "16", "--batch", "4"],
    "private.py": ["--batch", "8"],
}
torch_is_installed = importlib.util.find_spec("torch") is not None


def run(*command: str) -> str:
    environment = {**os.environ, "PYTHONPATH": f"{Path(undertow.__file__).parents[1]}{os.pathsep}{SCRIPTS}", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def losses(output: str) -> list[float]:
    return [float(number) for line in output.splitlines() if line.startswith("step ") for number in re.findall(r"loss\w* (\S+)", line)]


def command(name: str, steps: int) -> list[str]:
    return [str(SCRIPTS / name.split()[0]), "--steps", str(steps), "--seed", "3", "--dtype", "float64", *PROGRAMS[name]]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_prints_the_same_losses_as_on_torch(name):
    ours = losses(run("-m", "undertow.as_torch", *command(name, 4)))
    assert len(ours) >= 4
    assert all(abs(x) < 1e6 for x in ours)
    if torch_is_installed:
        theirs = losses(run(*command(name, 4)))
        assert ours == pytest.approx(theirs, rel=1e-8, abs=1e-9)


def test_every_program_is_tested_and_named_in_the_readme():
    programs = {p.name for p in SCRIPTS.glob("*.py")} - {"common.py"}
    assert {name.split()[0] for name in PROGRAMS} == programs
    readme = (SCRIPTS / "README.md").read_text()
    assert all(f"`{name}`" in readme for name in programs)


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("*.py")), ids=lambda p: p.name)
def test_programs_import_only_torch(path):
    assert not re.search("undertow", path.read_text(), re.I)
