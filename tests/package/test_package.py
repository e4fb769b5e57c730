"""The package as installed: what importing it loads, where its parts are, how large it is."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import undertow
from tools import compressed_data
from undertow.utils import cpp_extension

HERE = Path(undertow.__file__).parent
installed = pytest.mark.skipif(not (HERE / "include").is_dir(), reason="undertow is used from its source tree")
a_distribution = pytest.mark.skipif(not list(HERE.parent.glob("undertow-*.dist-info")), reason="the package was not installed from a wheel")


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def test_importing_undertow_loads_no_numpy():
    heavy = "[m for m in ('numpy', 'torch', 'inspect', 'logging', 'multiprocessing') if m in sys.modules]"
    assert run(f"import sys, undertow; print({heavy})") == "[]"


def test_the_version_is_named_in_one_place(repository):
    import tomllib

    project = tomllib.loads((repository / "pyproject.toml").read_text())
    assert project["project"]["dynamic"] == ["version"] and "version" not in project["project"]
    assert project["tool"]["scikit-build"]["metadata"]["version"]["input"] == "undertow/version.py"
    assert f'__version__ = "{undertow.__version__}"' in (repository / "undertow/version.py").read_text()
    assert undertow._C._build_info()["version"] == undertow.__version__
    assert undertow.__version__ not in (repository / "CMakeLists.txt").read_text()


@a_distribution
def test_the_distribution_has_the_same_version():
    from importlib import metadata

    assert metadata.version("undertow") == undertow.__version__


def test_one_address_of_the_project(repository):
    import tomllib

    address = tomllib.loads((repository / "pyproject.toml").read_text())["project"]["urls"]["Repository"]
    pages = ["CITATION.cff", ".github/ISSUE_TEMPLATE/config.yml"]
    for page in pages:
        found = re.findall(r"https://github\.com/[\w.-]+/[\w.-]+", (repository / page).read_text())
        assert found and set(found) == {address}


def test_the_package_is_typed():
    assert (HERE / "py.typed").exists()
    for package in ("", "autograd", "func", "nn", "optim", "utils"):
        assert (HERE / package / "__init__.pyi").exists(), "names are listed in stubs, which must be installed"


def _thread_local_bytes(library: Path) -> int:
    """The size of the thread-local block, from the program headers of a 64-bit ELF file."""
    data = library.read_bytes()
    (start,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    blocks = [struct.unpack_from("<IIQQQQQQ", data, start + i * size) for i in range(count)]
    return sum(b[6] for b in blocks if b[0] == 7)


@pytest.mark.skipif(sys.platform != "linux", reason="reads an ELF file")
def test_thread_local_memory_leaves_room_for_libraries_loaded_later():
    # Our hot variables live in the static block, whose reserve (1664 bytes in glibc) all late libraries share: torch's
    # libgomp cannot be loaded together with one that fills it.
    assert 0 < _thread_local_bytes(next((HERE / "lib").glob("libundertow.so"))) <= 1024


@installed
def test_headers_library_and_cmake_package_are_installed():
    assert (Path(cpp_extension.include_paths()[0]) / "undertow/undertow.h").exists()
    assert (Path(cpp_extension.include_paths()[0]) / "generated/ops.h").exists()
    assert not (Path(cpp_extension.include_paths()[0]) / "core/python").exists()
    assert list(Path(cpp_extension.library_paths()[0]).glob("libundertow.*"))
    assert (Path(cpp_extension.cmake_prefix_path()) / "undertow-config.cmake").exists()
    assert (HERE / "_C" / "__init__.pyi").exists()


@a_distribution
def test_the_installed_package_is_at_most_15_megabytes():
    # Everything that a CPU needs. CUDA is a library of its own with a Python package, which are not counted here.
    files = [p for p in HERE.rglob("*") if p.is_file() and p.suffix != ".pyc" and p.stem != "libundertow_cuda" and p.parent != HERE / "cuda"]
    assert sum(p.stat().st_size for p in files) <= 15_000_000


@a_distribution
def test_large_data_files_are_installed_compressed_only():
    for name in compressed_data.FILES:
        assert (HERE / f"{name}.gz").exists() and not (HERE / name).exists()
