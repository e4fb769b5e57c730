"""The C++ test programs of the build that the package was imported from."""

from __future__ import annotations

from pathlib import Path

import pytest

from undertow.utils import cpp_extension


def frontend_program(name: str) -> Path:
    """The program of tests/cpp/frontend/NAME.cpp. Skips the test if the build has no C++ tests."""
    library = next(Path(cpp_extension.library_paths()[0]).glob("libundertow.*"), None)
    found = library.resolve().parent / "tests/cpp/frontend" / f"frontend_{name}" if library else Path("absent")
    if not found.exists():
        pytest.skip("this build has no C++ tests: configure it with UNDERTOW_TESTS=ON")
    return found
