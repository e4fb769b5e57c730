"""The programs *_idioms.py print on Undertow, line by line, what they print on PyTorch."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import undertow

NUMBER = re.compile(r"[-+]?\d+\.\d*(?:e[-+]?\d+)?")  # rounding may differ; everything else is the same
PROGRAMS = sorted(Path(__file__).parent.glob("*idioms.py"))
PROGRAMS.remove(Path(__file__))


def lines(program: Path, *command: str) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(undertow.__file__).parents[1])}
    done = subprocess.run([sys.executable, *command, str(program)], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_every_idiom_gives_what_torch_gives(program):
    ours = lines(program, "-m", "undertow.as_torch")
    assert len(ours) > 20
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed: the program ran, and nothing was compared")
    theirs = lines(program)
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert NUMBER.sub("#", mine) == NUMBER.sub("#", other)
        assert [float(n) for n in NUMBER.findall(mine)] == pytest.approx([float(n) for n in NUMBER.findall(other)], rel=1e-5, abs=1e-6)
