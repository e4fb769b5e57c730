"""The extension of these tests, compiled once."""

from __future__ import annotations

from pathlib import Path

import pytest

from undertow.utils import cpp_extension


@pytest.fixture(scope="session")
def extension(tmp_path_factory):
    """Return the module of extension.cpp. Workers of pytest-xdist share the build: the folder's lock makes one of them compile."""
    pytest.importorskip("pybind11")
    shared = tmp_path_factory.getbasetemp().parent if tmp_path_factory.getbasetemp().name.startswith("popen-") else tmp_path_factory.getbasetemp()
    folder = shared / "cpp_extension"
    folder.mkdir(mode=0o700, exist_ok=True)
    source = Path(__file__).with_name("extension.cpp")
    return cpp_extension.load("ut_test_extension", [str(source)], extra_cflags=["-O0", "-Wall", "-Wextra"], build_directory=str(folder), use_pch=False)
