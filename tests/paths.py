"""Where things are: the root of the source tree, and the folder of the tests."""

from pathlib import Path

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
