"""Information about a build: `__config__`, `collect_env`, and the version wherever it is given."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys

import pytest

import undertow
from undertow import __config__, version
from undertow.utils import collect_env

CODE = "import undertow; print(undertow._C._build_info()['instruction_set'])"


def test_the_version_is_the_same_everywhere():
    assert undertow.__version__ == version.__version__ == undertow._C._build_info()["version"]


def test_the_build_names_its_compiler_flags_and_system():
    build = undertow._C._build_info()
    assert re.fullmatch(r"(GNU|Clang|AppleClang) \d+(\.\d+)*", build["compiler"])
    assert "-Wall" in build["flags"] and "-std=c++20" in build["flags"]
    assert build["system"].split() == [platform.system(), platform.machine()]
    assert build["python"].split(".")[:2] == platform.python_version().split(".")[:2]


def test_the_instruction_set_in_use_was_compiled():
    build = undertow._C._build_info()
    assert build["instruction_set"] in build["kernel_flags"]
    assert f"Instruction set in use: {build['instruction_set']}" in __config__.show()


@pytest.mark.skipif(len(undertow._C._build_info()["kernel_flags"]) == 1, reason="one instruction set was compiled")
@pytest.mark.parametrize("name", ["baseline", "avx2"])
def test_the_instruction_set_follows_the_environment(name):
    order = ["baseline", "avx2", "avx512"]
    best = undertow._C._build_info()["instruction_set"] if "UNDERTOW_ISA" not in os.environ else None
    shown = subprocess.run([sys.executable, "-c", CODE], env={**os.environ, "UNDERTOW_ISA": name}, check=True, capture_output=True, text=True).stdout.strip()
    assert shown == name or (best and order.index(best) < order.index(name))


def test_show_matches_the_build():
    text, build = __config__.show(), undertow._C._build_info()
    assert all(part in text for part in (undertow.__version__, build["compiler"], build["flags"], *build["kernel_flags"]))
    assert f"CPU threads: {undertow.get_num_threads()}" in text


def test_parallel_info_follows_the_number_of_threads():
    before = undertow.get_num_threads()
    try:
        undertow.set_num_threads(before + 1)
        assert f"get_num_threads() : {before + 1}\n" in __config__.parallel_info()
    finally:
        undertow.set_num_threads(before)
    assert f"affinity mask : {undertow._C._cpu_limits()['affinity']}\n" in __config__.parallel_info()


def test_the_report_has_what_a_bug_report_needs():
    done = subprocess.run([sys.executable, "-m", "undertow.utils.collect_env"], env={**os.environ, "OMP_NUM_THREADS": "3"}, check=True, capture_output=True, text=True)
    assert done.stderr == ""
    lines = dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line)
    assert lines["Undertow version"] == undertow.__version__
    assert lines["Built by"] == undertow._C._build_info()["compiler"]
    assert lines["CPU threads"].startswith("3 (affinity mask: ")
    assert "OMP_NUM_THREADS=3" in lines["Environment variables"]
    assert lines["Python version"].startswith(platform.python_version())
    assert "[pip3] numpy==" in done.stdout


def test_unknown_fields_are_shown_as_not_available():
    known = collect_env.get_env_info()
    text = collect_env.pretty_str(known._replace(gcc_version=None, libc_version=None))
    assert "GCC version: N/A\n" in text and "Libc version: N/A\n" in text
    assert f"Built by: {known.built_by}\n" in text
