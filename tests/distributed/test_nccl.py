"""Collectives on a GPU by NCCL, on the emulated driver: each check of programs/gpu.py with 1 to 3 processes, with and without MPI; failures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from ranks import HERE, LIMIT, PROGRAMS, environment, names_of_checks, needs_mpi

sys.path.insert(0, str(HERE.parent / "cuda"))
import emulated_cuda

START = "import runpy, sys; {hide}; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"


def start(folder: Path, size: int, *command: str, mpi: bool = False, **settings: object) -> list[subprocess.Popen[str]]:
    """Start the ranks, which meet in a file; without `mpi` they cannot import mpi4py."""
    emulated = {name: value for name, value in emulated_cuda.environment(**settings).items() if name.startswith("UNDERTOW_")}
    variables = {**environment(), **emulated, "UNDERTOW_CUDA_CACHE": str(folder.parent / "kernels")}
    hide = "pass" if mpi else "sys.modules['mpi4py'] = None"
    program = [sys.executable, "-c", START.replace("{hide}", hide)]
    return [
        subprocess.Popen(
            [*program, *command],
            env={**variables, "MEET": f"file://{folder}/meet?rank={rank}&world_size={size}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(size)
    ]


def outputs(started: list[subprocess.Popen[str]]) -> list[tuple[int, str, str]]:
    found = [process.communicate(timeout=LIMIT) for process in started]
    return [(process.returncode, *texts) for process, texts in zip(started, found)]


def failures(folder: Path, size: int, **options: bool) -> dict[str, str]:
    done = outputs(start(folder, size, str(HERE / "run_checks.py"), "gpu", str(folder), "nccl", **options))
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*.json")):
        for name, outcome in json.loads(path.read_text()).items():
            if found.get(name, "ok") == "ok":
                found[name] = outcome if outcome == "ok" else f"{path.stem}: {outcome}"
    missing = f"did not run: {done}"
    return {name: outcome for name in names_of_checks("gpu") if (outcome := found.get(name, missing)) != "ok"}


@pytest.mark.parametrize("size", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
def test_collectives_and_training_on_a_gpu_without_mpi(size, tmp_path):
    assert failures(tmp_path, size) == {}


@pytest.mark.mpi
@needs_mpi
def test_collectives_and_training_on_a_gpu_beside_mpi(tmp_path):
    assert failures(tmp_path, 2, mpi=True) == {}


@pytest.mark.parametrize(
    ("how", "words"), [("hangs", "Timed out waiting 2000ms"), ("raises", "it raised ValueError: a bad sample"), ("killed", "died")]
)
def test_a_program_that_waits_for_its_gpu_learns_which_rank_failed(how, words, tmp_path):
    (code, out, said), _ = outputs(start(tmp_path, 2, str(PROGRAMS / "gpu_fails.py"), how))
    assert code == 1 and out == ""
    assert "DistBackendError: all_reduce(float32[3], SUM): NCCL: " in said and words in said
    assert "\n  rank 1 " in said and "last collective: all_reduce(float32[3], SUM) (number 1 of the group) at gpu_fails.py:15" in said


def test_tensors_of_a_gpu_are_copied_where_there_is_no_nccl(tmp_path):
    (tmp_path / "program.py").write_text(
        "import undertow as ut, undertow.distributed as d\nd.init_process_group('gloo', rank=0, world_size=1)\n"
        "x = ut.ones(2, device='cuda')\nd.all_reduce(x)\nprint(x.tolist(), d.group.WORLD.links.gpu)\n"
        "group = d.new_group(backend='nccl')\nd.all_reduce(x, group=group)\nprint(x.tolist(), type(group.links.gpu.transport).__name__)\n"
        "print(ut.cuda.nccl.version(), ut.cuda.nccl.is_available([x]), ut.cuda.nccl.is_available([x, x]), ut.cuda.nccl.is_available([x.cpu()]))\n"
    )
    [(code, out, said)] = outputs(start(tmp_path, 1, str(tmp_path / "program.py")))
    assert (code, said) == (0, "")
    assert out == "[1.0, 1.0] None\n[1.0, 1.0] NcclTransport\n(2, 27, 3) True False False\n"


def test_a_machine_without_nccl_says_how_to_get_it(tmp_path):
    (tmp_path / "program.py").write_text(
        "import os\nos.environ['UNDERTOW_NCCL'] = '/nowhere/libnccl.so.2'\nimport undertow.distributed as d\nassert not d.is_nccl_available()\n"
        "d.init_process_group('nccl', rank=0, world_size=1)\n"
    )
    [(code, _, said)] = outputs(start(tmp_path, 1, str(tmp_path / "program.py")))
    assert code == 1 and "doesn't have NCCL built in" in said and "pip install nvidia-nccl-cu13" in said and "/nowhere/libnccl.so.2" in said
