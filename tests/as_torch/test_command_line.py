"""`python -m undertow.as_torch` runs a program as `python` does: argv, path, __main__, exit codes, tracebacks, children."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import undertow

AS_TORCH = ["-m", "undertow.as_torch"]


def python(*arguments: str, cwd: Path, text: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONSAFEPATH"}
    environment["PYTHONPATH"] = str(Path(undertow.__file__).parents[1])
    return subprocess.run([sys.executable, *arguments], cwd=cwd, env=environment, input=text, capture_output=True, text=True, timeout=120)


def both(*arguments: str, cwd: Path, text: str | None = None) -> tuple[subprocess.CompletedProcess[str], subprocess.CompletedProcess[str]]:
    """The program under python, and under as_torch."""
    return python(*arguments, cwd=cwd, text=text), python(*AS_TORCH, *arguments, cwd=cwd, text=text)


REPORT = """
import sys, os
print(sys.argv, [os.path.realpath(p) if p else p for p in sys.path[:1]], __name__, globals().get("__file__"), __package__, __doc__)
print(sorted(k for k in globals() if k not in ("sys", "os", "__annotations__")), type(__loader__).__name__, bool(__spec__))
print(sys.modules["__main__"].__dict__ is globals())
"""


@pytest.mark.parametrize(
    "arguments", [["script.py", "-x", "--flag", "a b"], ["./folder/inner.py"], ["-m", "folder.inner", "-v"], ["-mfolder.inner"], ["folder"], ["-m", "folder"]]
)
def test_a_program_sees_the_same_environment_as_under_python(tmp_path, arguments):
    (tmp_path / "folder").mkdir()
    for name in ("script.py", "folder/inner.py", "folder/__main__.py"):
        (tmp_path / name).write_text(REPORT)
    (tmp_path / "folder/__init__.py").write_text("")
    plain, ours = both(*arguments, cwd=tmp_path)
    assert plain.returncode == 0, plain.stderr
    assert (ours.returncode, ours.stdout, ours.stderr) == (0, plain.stdout, "")


@pytest.mark.parametrize("arguments", [["-c", REPORT, "one", "two"], ["-c" + REPORT], ["-", "one"], []])
def test_code_from_the_command_line_and_from_stdin(tmp_path, arguments):
    plain, ours = both(*arguments, cwd=tmp_path, text=REPORT)
    assert (ours.returncode, ours.stdout, ours.stderr) == (0, plain.stdout, "")


def test_torch_is_undertow_in_a_script(tmp_path):
    (tmp_path / "script.py").write_text("import torch, undertow, torch.nn as nn\nprint(torch.Tensor is undertow.Tensor, nn is undertow.nn, torch.float32)")
    assert python(*AS_TORCH, "script.py", cwd=tmp_path).stdout == "True True torch.float32\n"


@pytest.mark.parametrize("code", ["raise SystemExit(3)", "import sys; sys.exit('a reason')", "1 / 0", "import os; os._exit(9)", "raise SystemExit", "x ="])
def test_exit_codes_and_tracebacks_match_python(tmp_path, code):
    (tmp_path / "script.py").write_text(f"def run():\n    {code}\nrun()\n")
    for arguments in (["script.py"], ["-c", code], ["-m", "script"]):
        plain, ours = both(*arguments, cwd=tmp_path)
        assert (ours.returncode, ours.stderr) == (plain.returncode, plain.stderr)


def test_an_interrupted_program_ends_as_under_python(tmp_path):
    code = "import os, signal; os.kill(os.getpid(), signal.SIGINT)"
    plain, ours = both("-c", code, cwd=tmp_path)
    assert ours.returncode == plain.returncode
    assert ours.stderr == plain.stderr


def test_a_missing_script_fails_as_under_python(tmp_path):
    plain, ours = both("nowhere.py", cwd=tmp_path)
    assert (ours.returncode, ours.stderr) == (plain.returncode, plain.stderr)
    plain, ours = both("-m", "no_such_module", cwd=tmp_path)
    assert (ours.returncode, ours.stderr) == (plain.returncode, plain.stderr)


def test_an_archive_runs(tmp_path):
    import zipfile

    with zipfile.ZipFile(tmp_path / "program.pyz", "w") as archive:
        archive.writestr("__main__.py", "import sys, torch\nprint(sys.argv, __name__, torch.__version__[:6])")
    assert python(*AS_TORCH, "program.pyz", "x", cwd=tmp_path).stdout == "['program.pyz', 'x'] __main__ 2.13.0\n"


@pytest.mark.parametrize("runner", ["pytest", "unittest"])
def test_test_runners_work(tmp_path, runner):
    (tmp_path / "test_it.py").write_text(
        "import unittest, torch\n"
        "class TestIt(unittest.TestCase):\n"
        "    def test_sum(self): self.assertEqual(torch.ones(3).sum().item(), 3)\n"
        "    def test_wrong(self): self.assertEqual(torch.ones(3).sum().item(), 4)\n"
    )
    options = ["-q", "-p", "no:cacheprovider", "test_it.py"] if runner == "pytest" else ["test_it"]
    done = python(*AS_TORCH, "-m", runner, *options, cwd=tmp_path)
    assert done.returncode == 1
    assert re.search("1 failed, 1 passed|failures=1", done.stdout + done.stderr)


CHILDREN = """
import multiprocessing as mp, sys
import torch

def double(x):
    return sys.modules["torch"].__version__.split("+")[1][:8], (torch.tensor(x) * 2).item()

if __name__ == "__main__":
    with mp.get_context(sys.argv[1]).Pool(2) as pool:
        print(pool.map(double, [1, 2]))
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_of_multiprocessing_have_torch_too(tmp_path, method):
    (tmp_path / "script.py").write_text(CHILDREN)
    done = python(*AS_TORCH, "script.py", method, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("[('undertow', 2), ('undertow', 4)]\n", "")


SPAWNED_BY_LOKY = """
import pickle, subprocess, sys
from joblib.externals.loky.backend import spawn

data = spawn.get_preparation_data("worker", init_main_module=False)
child = "import pickle, sys; print(pickle.load(sys.stdin.buffer)['name']); import torch; print(torch.__version__)"
done = subprocess.run([sys.executable, "-c", child], input=pickle.dumps(data), capture_output=True)
print(done.stdout.decode().split(), done.stderr.decode())
"""


def test_processes_of_joblib_have_torch_too(tmp_path):
    folder = tmp_path / "joblib" / "externals" / "loky" / "backend"
    folder.mkdir(parents=True)
    (folder / "spawn.py").write_text("def get_preparation_data(name, init_main_module=True): return {'name': name}")
    (tmp_path / "script.py").write_text(SPAWNED_BY_LOKY)
    done = python(*AS_TORCH, "script.py", cwd=tmp_path)
    assert done.stdout.startswith("['worker', '2.13.0+undertow"), done.stdout + done.stderr


LOADER = """
import sys, torch
from torch.utils.data import DataLoader, Dataset

class Squares(Dataset):
    def __len__(self): return 8
    def __getitem__(self, i): return torch.tensor(float(i)).square(), i

if __name__ == "__main__":
    x = torch.ones(3, requires_grad=True)
    (x * x).sum().backward()
    loader = DataLoader(Squares(), batch_size=4, num_workers=2, multiprocessing_context=sys.argv[1])
    print([(squares.tolist(), numbers.tolist()) for squares, numbers in loader])
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_a_data_loader_have_torch_too(tmp_path, method):
    (tmp_path / "script.py").write_text(LOADER)
    done = python(*AS_TORCH, "script.py", method, cwd=tmp_path)
    assert done.stdout == "[([0.0, 1.0, 4.0, 9.0], [0, 1, 2, 3]), ([16.0, 25.0, 36.0, 49.0], [4, 5, 6, 7])]\n", done.stderr


def test_python_options_raise_with_a_hint(tmp_path):
    done = python(*AS_TORCH, "-O", "x.py", cwd=tmp_path)
    assert done.returncode == 2
    assert "go before -m" in done.stderr
    assert python(*AS_TORCH, "-c", cwd=tmp_path).returncode == 2
    assert "usage" in python(*AS_TORCH, "--help", cwd=tmp_path).stdout
