"""Writes the reference values of the tests that were computed by PyTorch. Needs torch; the tests that use the values do not.

    python tests/data/make_references.py            all of them
    python tests/data/make_references.py test_rnn   the answers that one test file uses

- torch_answers/<test file>.json: the outcomes of that file's scenarios on PyTorch (see tests/torch_answers.py).
- as_torch/printed: what the programs *_idioms.py print on PyTorch.
- as_torch/torch_public_names.json: the public names of torch's modules.
- interop/written_by_torch: checkpoints.
The answers and the names record the version of PyTorch. Run this after adding or changing a test that uses `same_as_torch`, or one of those programs,
and read the difference before committing it. tests/parity/test_references.py checks that the values are still PyTorch's.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]


def write_answers(names: list[str]) -> int:
    users = sorted(p for p in TESTS.rglob("test_*.py") if "same_as_torch" in p.read_text())
    if names:
        users = [p for p in users if p.stem in names]
        if missing := set(names) - {p.stem for p in users}:
            sys.exit(f"no test file that uses same_as_torch: {', '.join(sorted(missing))}")
    return pytest.main(["-q", "--write-torch-answers", *map(str, users)])


def of_tests(folder: str, module: str):
    """A module of the tests, by its folder."""
    sys.path[:0] = [str(TESTS.parent), str(TESTS / folder)]
    return importlib.import_module(module)


def write_printed() -> None:
    idioms = of_tests("as_torch", "test_idioms")
    idioms.PRINTED.mkdir(exist_ok=True)
    for program in idioms.PROGRAMS:
        (idioms.PRINTED / f"{program.stem}.txt").write_text("\n".join(idioms.lines(program)) + "\n")


def main(names: list[str]) -> int:
    if not names:
        import torch

        of_tests("as_torch", "torch_public_names").write(torch.__version__.split("+")[0])
        of_tests("interop", "written_by_torch").write()
        write_printed()
    return write_answers(names)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
