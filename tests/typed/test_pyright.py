"""Type checkers accept correct programs and report every mistake of wrong ones at its line.

Needs pyright, which `pip install undertow[dev]` brings.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def pyright(*arguments, cwd=ROOT):
    """pyright's report. It runs on the package's source, without the stubs of an installed copy."""
    command = [sys.executable, "-m", "pyright", "--outputjson", *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=900, env={**os.environ, "PYTHONPATH": str(ROOT)})
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        pytest.skip(f"pyright does not run here: {(done.stderr or done.stdout).strip()[:200]}")


@pytest.fixture(scope="module")
def reported():
    """The messages of errors, by file and line."""
    pytest.importorskip("pyright")
    found = {}
    for d in pyright(*sorted(HERE.glob("good/*.py")), *sorted(HERE.glob("bad/*.py")), *sorted((ROOT / "examples").glob("*.py")))["generalDiagnostics"]:
        if d["severity"] == "error":
            found.setdefault(Path(d["file"]), {}).setdefault(d["range"]["start"]["line"] + 1, []).append(d["message"])
    return found


@pytest.mark.parametrize("path", [*sorted(HERE.glob("good/*.py")), *sorted((ROOT / "examples").glob("*.py"))], ids=lambda p: p.name)
def test_a_good_program_is_accepted(reported, path):
    assert reported.get(path, {}) == {}


@pytest.mark.parametrize("path", sorted(HERE.glob("bad/*.py")), ids=lambda p: p.name)
def test_every_mistake_is_reported_at_its_line(reported, path):
    marked = {n for n, line in enumerate(path.read_text().splitlines(), 1) if line.endswith("# error")}
    assert len(marked) >= 10
    assert set(reported.get(path, {})) == marked


@pytest.mark.slow
def test_the_public_interface_is_typed(tmp_path):
    pytest.importorskip("pyright")
    report = pyright("--verifytypes", "undertow", "--ignoreexternal", cwd=tmp_path)["typeCompleteness"]
    unclear = [s["name"] for s in report["symbols"] if s["isExported"] and (not s["isTypeKnown"] or s["isTypeAmbiguous"])]
    assert unclear == []
