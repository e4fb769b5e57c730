"""Whole programs: recorded by an environment variable or a command, also under as_torch, without a change of the script."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import undertow
from undertow.inspect import Recording, _page
from undertow.inspect.__main__ import _Options, is_recording

SCRIPT = """
import sys
import {torch} as torch
model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    optimizer.zero_grad()
    model(torch.ones(4, 2)).sum().backward()
    optimizer.step()
print("arguments", sys.argv[1:], __name__)
"""


def run(*arguments: str, folder: Path, **environment: str) -> subprocess.CompletedProcess:
    env = {**os.environ, "PYTHONPATH": str(Path(undertow.__file__).parents[1]), **environment}
    return subprocess.run([sys.executable, *arguments], cwd=folder, env=env, capture_output=True, text=True, timeout=120)


@pytest.fixture
def script(tmp_path):
    def write(torch: str) -> str:
        path = tmp_path / "train.py"
        path.write_text(SCRIPT.format(torch=torch))
        return str(path)

    return write


def check(recording: Recording) -> None:
    assert recording.passes == 2 and recording.data["passes"]["step"] == [0, 1]
    lines = {recording.line(n) for n in recording.ran()}
    assert "train.py:8" in lines
    assert {recording.string(s) for s in recording.data["nodes"]["leaf_s"]} >= {"0.weight", "2.bias"}


def test_the_environment_variable_records_a_program(script, tmp_path):
    done = run(script("undertow"), "a", folder=tmp_path, UNDERTOW_INSPECT="run.utrace")
    assert done.returncode == 0 and "arguments ['a'] __main__" in done.stdout and "(2 passes)" in done.stderr, done.stderr
    check(Recording.load(tmp_path / "run.utrace"))


def test_the_environment_variable_works_under_as_torch(script, tmp_path):
    done = run("-m", "undertow.as_torch", script("torch"), folder=tmp_path, UNDERTOW_INSPECT="run.utrace", UNDERTOW_INSPECT_VALUES="1")
    assert done.returncode == 0, done.stderr
    recording = Recording.load(tmp_path / "run.utrace")
    check(recording)
    assert recording.norms()["0.weight"]


@pytest.mark.parametrize(("torch", "options"), [("undertow", []), ("torch", ["--as-torch"])])
def test_the_command_records_a_program(script, tmp_path, torch, options):
    done = run("-m", "undertow.inspect", "--out", "run.utrace", *options, script(torch), "x", "--y", folder=tmp_path)
    assert done.returncode == 0 and "arguments ['x', '--y'] __main__" in done.stdout, done.stderr
    check(Recording.load(tmp_path / "run.utrace"))


def test_the_command_explains_and_compares_recordings(script, tmp_path):
    run(script("undertow"), folder=tmp_path, UNDERTOW_INSPECT="run.utrace")
    done = run("-m", "undertow.inspect", "--explain", "run.utrace", "run.utrace", folder=tmp_path)
    assert done.returncode == 0 and "2 backward passes" in done.stdout and "the recordings agree" in done.stdout


def test_a_damaged_file_is_one_line_of_error(tmp_path):
    (tmp_path / "bad.utrace").write_bytes(b"nonsense")
    done = run("-m", "undertow.inspect", "bad.utrace", folder=tmp_path)
    assert done.returncode == 1 and "not a valid recording" in done.stderr and "Traceback" not in done.stderr


def test_a_program_that_fails_is_recorded_up_to_there(tmp_path):
    (tmp_path / "train.py").write_text("import undertow as ut\nut.ones(1, requires_grad=True).exp().backward()\nraise SystemExit(3)\n")
    done = run("train.py", folder=tmp_path, UNDERTOW_INSPECT="run.utrace")
    assert done.returncode == 3 and Recording.load(tmp_path / "run.utrace").passes == 1


def test_programs_that_a_recorded_program_starts_are_not_recorded(tmp_path):
    inner = "import subprocess, sys, undertow; subprocess.run([sys.executable, '-c', 'import os; print(os.environ.get(\"UNDERTOW_INSPECT\"))'])"
    done = run("-c", inner, folder=tmp_path, UNDERTOW_INSPECT="run.utrace")
    assert done.stdout.strip() == "None"


def test_ranks_write_files_of_their_own(tmp_path):
    run("-c", "import undertow", folder=tmp_path, UNDERTOW_INSPECT="run.utrace", RANK="3")
    assert (tmp_path / "run.rank3.utrace").exists()


@pytest.mark.parametrize("names", [("RANK", "WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")])
def test_a_recording_of_a_rank_says_which_one_it_is(names, tmp_path, monkeypatch):
    program = "import undertow as ut; ut.ones(1, requires_grad=True).exp().backward()"
    run("-c", program, folder=tmp_path, UNDERTOW_INSPECT="run.utrace", **dict(zip(names, "12")))
    r = Recording.load(tmp_path / "run.rank1.utrace")
    assert r.data["meta"]["ranks"] == [1, 2]
    events = r.to_perfetto()["traceEvents"]
    assert {event["pid"] for event in events} == {2} and events[0]["args"]["name"].endswith(", rank 1 of 2")
    monkeypatch.setattr(_page, "with_recording", lambda data, compare: data["meta"]["program"])
    assert r.to_html().endswith(", rank 1 of 2")
    r.data["meta"]["ranks"] = ["1"]
    r.save(tmp_path / "wrong.utrace")
    with pytest.raises(ValueError, match="meta.ranks"):
        Recording.load(tmp_path / "wrong.utrace")


def test_importing_undertow_does_not_import_inspect(tmp_path):
    done = run("-c", "import undertow, sys; print([m for m in sys.modules if m.startswith('undertow.inspect')])", folder=tmp_path)
    assert done.stdout.strip() == "[]"


def test_options_end_where_the_program_begins():
    options = _Options(["--values", "--out", "a.html", "--no-open", "train.py", "--values"])
    assert (options.values, options.out, options.open_page, options.rest) == (True, "a.html", False, ["train.py", "--values"])
    with pytest.raises(SystemExit, match="unknown option --fast"):
        _Options(["--fast", "train.py"])


def test_a_recording_is_known_by_its_suffix_or_content(tmp_path):
    packed = tmp_path / "somewhere"
    packed.write_bytes(b"\x1f\x8b\x08")
    assert is_recording("run.utrace") and is_recording(str(packed))
    assert not is_recording("train.py") and not is_recording("-m") and not is_recording(str(tmp_path))
