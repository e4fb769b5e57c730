"""`torch._utils_internal`: where PyTorch's own test files look for files."""

from __future__ import annotations

import os
import tempfile

TEST_MASTER_ADDR = "127.0.0.1"
TEST_MASTER_PORT = 29500
USE_GLOBAL_DEPS = USE_RTLD_GLOBAL_WITH_LIBTORCH = False


def get_file_path(*parts: str) -> str:
    """Return the path with these parts below the package."""
    import undertow

    return os.path.join(os.path.dirname(undertow.__file__), *parts)


def get_file_path_2(*parts: str) -> str:
    """Return the path with these parts."""
    return os.path.join(*parts)


def get_writable_path(path: str) -> str:
    """Return the path if it is writable, otherwise a temporary folder with its name."""
    return path if os.access(path, os.W_OK) else tempfile.mkdtemp(suffix=os.path.basename(path))
