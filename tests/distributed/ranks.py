"""Runs programs in several real processes under mpiexec, and the checks inside them.

A file of `programs/` defines functions `check_...(dist, rank, size)`. All ranks run them in order; `failures` starts the processes and gives the
checks that failed.
"""

from __future__ import annotations

import ast
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
LIMIT = 240  # seconds that a program may take on a busy machine


def mpiexec() -> str | None:
    """The launcher of the environment's MPI wheel, or the system's."""
    beside = Path(sys.executable).with_name("mpiexec")
    return str(beside) if beside.exists() else shutil.which("mpiexec")


needs_mpi = pytest.mark.skipif(find_spec("mpi4py") is None or mpiexec() is None, reason="needs MPI: pip install 'undertow[mpi]' mpich")


def environment(**more: str) -> dict[str, str]:
    """The environment of a rank: one thread, because ranks share the cores, and the package that these tests import."""
    import undertow

    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PMI_", "MASTER_", "TORCH_DISTRIBUTED", "UNDERTOW_D"))}
    path = os.pathsep.join([str(Path(undertow.__file__).parent.parent), str(HERE)])
    return {**kept, "PYTHONPATH": path, "UNDERTOW_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "UCX_TLS": "self,shm", **more}


def run(size: int, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a Python program with `size` ranks."""
    launcher = mpiexec()
    assert launcher is not None
    extra = ["--oversubscribe", "--allow-run-as-root"] if "Open MPI" in _version(launcher) else []
    return subprocess.run(
        [launcher, *extra, "-n", str(size), sys.executable, *command], env=environment(**variables), capture_output=True, text=True, timeout=LIMIT
    )


@functools.cache
def _version(launcher: str) -> str:
    return subprocess.run([launcher, "--version"], capture_output=True, text=True).stdout


def names_of_checks(program: str) -> list[str]:
    """The checks that a program defines, in its order."""
    tree = ast.parse((PROGRAMS / f"{program}.py").read_text())
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("check_")]


def failures(program: str, size: int) -> dict[str, str]:
    """Run a program of checks; return those that failed on some rank, with what went wrong. One test is one start of the processes."""
    with tempfile.TemporaryDirectory() as folder:
        done = run(size, str(HERE / "run_checks.py"), program, folder)
        found: dict[str, str] = {}
        for path in sorted(Path(folder).glob("*.json")):
            for name, outcome in json.loads(path.read_text()).items():
                if found.get(name, "ok") == "ok":
                    found[name] = outcome if outcome == "ok" else f"{path.stem}: {outcome}"
    missing = f"did not run: {done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return {name: outcome for name in names_of_checks(program) if (outcome := found.get(name, missing)) != "ok"}
