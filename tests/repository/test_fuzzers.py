"""The fuzzers of tools/fuzz: a short run of each finds nothing, and each finds what is planted for it."""

import subprocess
import sys

import pytest

from tests.paths import ROOT, environment_for_tools
from tools.fuzz import api, children, files

pytestmark = pytest.mark.skipif(not (ROOT / "ops").is_dir(), reason="needs the source tree")


def run(module: str, *options: str) -> str:
    command = [sys.executable, "-m", f"tools.fuzz.{module}", *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment_for_tools())
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    return done.stdout


def test_a_short_run_of_hostile_calls_finds_nothing():
    assert run("api", "--calls", "1500", "--quiet").endswith("seed 0: 0 findings\n")


def test_a_short_run_of_changed_files_finds_nothing():
    assert run("files", "--mutations", "600", "--quiet").count(": 0 findings\n") == 3


@pytest.mark.slow
def test_a_long_run_of_hostile_calls_finds_nothing():
    run("api", "--calls", "50000", "--seed", "7")


@pytest.mark.slow
def test_a_long_run_of_changed_files_finds_nothing():
    run("files", "--mutations", "20000", "--seed", "7")


def test_a_number_means_the_same_call_and_the_same_file_everywhere():
    assert [api.expression(3, n) for n in range(20)] == [api.expression(3, n) for n in range(20)]
    assert len({api.expression(3, n) for n in range(50)}) > 45
    for kind in files.FORMATS:
        assert files.mutant(3, 5, kind) == files.mutant(3, 5, kind)
        assert files.mutant(3, 5, kind) not in files.originals()[kind]


@pytest.mark.parametrize(
    "text", ["internal error in Undertow", "std::bad_alloc", "basic_string: construction from null", "vector::reserve", "core/x.cpp:12"]
)
def test_texts_of_the_implementation_are_recognized(text):
    assert children.LEAKED.search(f"add(): {text}")
    assert not children.LEAKED.search("The size of tensor a (2) must match the size of tensor b (3)")


PLANTED = """
import argparse, os, sys, time
from tools.fuzz import children
def work(number):
    if number == 3: os.abort()
    if number == 5:
        while True: pass
    if number == 7: return [("text", "internal error")]
    if number == 9: bytearray(1 << 40)
    return []
parser = argparse.ArgumentParser()
children.limits(parser)
parser.add_argument("--child", type=int)
options = parser.parse_args()
def safely(number):
    try:
        return work(number)
    except MemoryError:
        return [("error", "memory")]
children.serve(safely, options, options.child)
"""


def test_crashes_hangs_and_texts_are_found_and_the_rest_runs(tmp_path, monkeypatch, capsys):
    (tmp_path / "planted.py").write_text(PLANTED)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT}")
    parser = children.argparse.ArgumentParser()
    children.limits(parser)
    options = parser.parse_args(["--cpu-seconds", "0.3", "--batch", "6"])
    found = children.run("planted", options, 12, [], str)
    assert [(f.number, f.kind) for f in found] == [(3, "crash"), (5, "hang"), (7, "text"), (9, "error")]
    assert "12 done, 4 findings" in capsys.readouterr().out
