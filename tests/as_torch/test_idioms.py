"""The program idioms.py prints on Undertow, line by line, what it prints on PyTorch."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import undertow

PROGRAM = Path(__file__).parent / "idioms.py"


def lines(*command: str) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(undertow.__file__).parents[1])}
    done = subprocess.run([sys.executable, *command, str(PROGRAM)], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_every_idiom_gives_what_torch_gives():
    ours = lines("-m", "undertow.as_torch")
    assert len(ours) > 100
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed: the program ran, and nothing was compared")
    assert ours == lines()
