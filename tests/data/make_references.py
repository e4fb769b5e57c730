"""Writes the reference values of the tests that were computed by PyTorch. Needs torch; the tests that use the values do not.

    python tests/data/make_references.py            all of them
    python tests/data/make_references.py test_rnn   those of one test file

torch_answers/<test file>.json holds how the stories of that file end on PyTorch (see tests/torch_answers.py). It also holds the
version of PyTorch. Run this after adding or changing a test that uses `same_as_torch`, and read the difference before committing it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]


def main(names: list[str]) -> int:
    users = sorted(p for p in TESTS.rglob("test_*.py") if "same_as_torch" in p.read_text())
    if names:
        users = [p for p in users if p.stem in names]
        if missing := set(names) - {p.stem for p in users}:
            sys.exit(f"no test file that uses same_as_torch: {', '.join(sorted(missing))}")
    return pytest.main(["-q", "--write-torch-answers", *map(str, users)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
