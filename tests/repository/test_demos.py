"""The demos work: the GPT learns and generates, the watched network's gradients agree and recordings are written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import undertow


def run(repository: Path, name: str, *arguments: str, cwd: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(Path(undertow.__file__).parents[1]), "PYTHONUTF8": "1"}
    program = str(repository / "examples" / name)
    done = subprocess.run([sys.executable, program, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_gpt_learns_letters_and_writes_lines(repository, tmp_path):
    output = run(repository, "demo.py", "--steps", "4", cwd=tmp_path)
    assert "4/4" in output
    assert "    When " in output
    assert "ok: unread text surprised it" in output
    page = tmp_path / "demo.html"
    assert str(page) in output and 'id="utrace"' in page.read_text(encoding="utf-8")


def test_the_watched_network_agrees_with_finite_differences_and_leaves_its_recording(repository, tmp_path):
    output = run(repository, "demo_watch.py", cwd=tmp_path)
    assert "ok: every gradient agrees" in output
    recording = undertow.inspect.Recording.load(tmp_path / "demo.utrace")
    assert recording.passes == 1 and "TanhBackward0" in recording.order()
