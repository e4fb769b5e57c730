"""The programs *_idioms.py print the same lines on Undertow as on PyTorch (stored in printed/)."""

from __future__ import annotations

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
PRINTED = Path(__file__).parent / "printed"  # what the programs print on PyTorch; tests/data/make_references.py writes it


def lines(program: Path, *command: str) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(undertow.__file__).parents[1])}
    done = subprocess.run([sys.executable, *command, str(program)], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_every_idiom_matches_torch(program):
    ours = lines(program, "-m", "undertow.as_torch")
    assert len(ours) > 20
    compare(ours, (PRINTED / f"{program.stem}.txt").read_text().splitlines())


def compare(ours: list[str], theirs: list[str]) -> None:
    """Fails unless the lines are the same up to rounding."""
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert NUMBER.sub("#", mine) == NUMBER.sub("#", other)
        assert [float(n) for n in NUMBER.findall(mine)] == pytest.approx([float(n) for n in NUMBER.findall(other)], rel=1e-5, abs=1e-6)
