"""Paths of the installed headers, library and CMake package, for C++ code that uses Undertow."""

from __future__ import annotations

import os

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

__all__ = ["cmake_prefix_path", "include_paths", "library_paths"]


def include_paths() -> list[str]:
    """Return the folders for the compiler's -I; headers are in `core/...` and `generated/...` below them."""
    return [os.path.join(_ROOT, "include")]


def library_paths() -> list[str]:
    """Return the folders for the linker's -L; the library is `undertow`."""
    return [os.path.join(_ROOT, "lib")]


def cmake_prefix_path() -> str:
    """Return the path for `cmake -DCMAKE_PREFIX_PATH=...`, so that find_package(undertow) provides the target undertow::undertow."""
    return os.path.join(_ROOT, "share", "cmake", "undertow")
