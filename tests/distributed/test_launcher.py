"""python -m undertow.distributed.run: torchrun's options, variables and exit codes; failures and restarts."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from ranks import LIMIT, PROGRAMS, environment, needs_mpi, run

from undertow.distributed._launcher import launch as _launch
from undertow.distributed.run import parse_args

pytestmark = [pytest.mark.mpi, needs_mpi]
LAUNCHER = "undertow.distributed.run"


def launched(*arguments: str, module: tuple[str, ...] = ("-m", LAUNCHER), **variables: str) -> subprocess.CompletedProcess[str]:
    settings = environment(**variables)
    del settings["OMP_NUM_THREADS"]
    return subprocess.run([sys.executable, *module, *arguments], env=settings, capture_output=True, text=True, timeout=LIMIT)


def test_the_variables_of_torchrun_are_set():
    done = launched("--nproc-per-node", "2", "--rdzv-id", "job7", "--role", "trainer", str(PROGRAMS / "environment.py"), "--lr", "0.1")
    assert done.returncode == 0, done.stderr
    rows = sorted(json.loads(line) for line in done.stdout.splitlines())
    assert rows == [[str(r), "2", str(r), "2", "0", "trainer", "job7", "1", "127.0.0.1", "--lr", "0.1"] for r in range(2)]


def test_a_process_that_exits_with_a_code_fails_the_job():
    assert launched("--nproc_per_node=2", str(PROGRAMS / "environment.py"), CODE="3").returncode == 1
    assert launched("--nproc-per-node", "nonsense", "x.py").returncode == 2


def test_modules_and_other_programs_are_started():
    done = launched("--nproc-per-node", "2", "-m", "this")
    assert done.returncode == 0 and done.stdout.count("The Zen of Python") == 2
    assert launched("--no-python", "--nproc-per-node", "2", "echo", "here").stdout.split() == ["here", "here"]


def test_output_goes_to_files_or_is_filtered(tmp_path):
    done = launched("--nproc-per-node", "2", "--redirects", "1", "--log-dir", str(tmp_path), str(PROGRAMS / "environment.py"))
    assert done.returncode == 0 and done.stdout == ""
    assert [json.loads((tmp_path / f"attempt_0/{r}/stdout.log").read_text())[0] for r in range(2)] == ["0", "1"]
    done = launched("--nproc-per-node", "2", "--local-ranks-filter", "1", str(PROGRAMS / "environment.py"))
    assert [json.loads(line)[0] for line in done.stdout.splitlines()] == ["1"]


@pytest.mark.parametrize(
    ("version", "option"),
    [("mpiexec (OpenRTE) 4.1.6", "--oversubscribe"), ("mpirun (Open MPI) 5.0.11", "--oversubscribe"), ("HYDRA build details:", "-ppn")],
)
def test_the_options_are_those_of_the_launcher_that_is_installed(tmp_path, monkeypatch, version, option):
    launcher = tmp_path / "mpiexec"
    launcher.write_text(f'#!/bin/sh\nif [ "$1" = --version ]; then echo "{version}"; else echo "$@" >"{tmp_path}/arguments"; fi\n')
    launcher.chmod(0o755)
    monkeypatch.setattr(_launch, "mpiexec", lambda: str(launcher))
    _launch.launch(_launch.Job(["true"], nproc=2))
    assert option in (tmp_path / "arguments").read_text().split()


@pytest.mark.parametrize(("how", "words"), [("killed", "died"), ("raises", "failed"), ("exits", "has ended")])
def test_the_launcher_names_the_rank_that_failed(how, words):
    done = launched("--nproc-per-node", "3", str(PROGRAMS / "fails.py"), how)
    assert done.returncode == 1
    last = [line for line in done.stderr.splitlines() if line.startswith(LAUNCHER)][-1]
    assert "rank 1" in last and words in last and "last collective: all_reduce(float32[3], SUM)" in last and "at fails.py:" in last
    assert "rank 0 " not in last and "rank 2 " not in last


def test_a_job_continues_after_a_restart(tmp_path):
    done = launched("--nproc-per-node", "2", "--max-restarts", "1", str(PROGRAMS / "restarts.py"), str(tmp_path / "step"))
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"rank {r} attempt 1 began at 4 and has 6.0" for r in range(2)]
    assert "rank 1 failed" in done.stderr and "restarting, 1 left" in done.stderr


def test_launchers_on_several_hosts_meet_at_an_address(tmp_path):
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    program = tmp_path / "program.py"
    program.write_text(
        "import os, undertow as ut, undertow.distributed as d\nd.init_process_group()\nx = ut.ones(1)\nd.all_reduce(x)\n"
        "os.write(1, f'{d.get_rank()} {os.environ[\"LOCAL_RANK\"]} {x.item()}\\n'.encode())\n"
    )
    settings = environment(UNDERTOW_STORE_TOKEN="a secret of this test")
    common = [sys.executable, "-m", LAUNCHER, "--nnodes", "2", "--nproc-per-node", "1", "--master-addr", "127.0.0.1", "--master-port", port]
    started = [subprocess.Popen([*common, "--node-rank", str(r), str(program)], env=settings, stdout=subprocess.PIPE, text=True) for r in range(2)]
    outputs = [process.communicate(timeout=LIMIT)[0] for process in started]
    assert [process.returncode for process in started] == [0, 0] and outputs == ["0 0 2.0\n", "1 0 2.0\n"]


def test_a_torch_program_is_launched_by_torchs_name(tmp_path):
    program = tmp_path / "train.py"
    program.write_text(
        "import os, torch, torch.distributed as dist\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n"
        "dist.init_process_group('nccl')\nmodel = DDP(torch.nn.Linear(3, 1))\nmodel(torch.ones(2, 3) * dist.get_rank()).sum().backward()\n"
        "os.write(1, f'{dist.get_rank()} {model.module.weight.grad.tolist()} {torch.__version__[:6]}\\n'.encode())\n"
    )
    done = launched("-m", "torch.distributed.run", "--nproc-per-node", "2", str(program), module=("-m", "undertow.as_torch"))
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"{r} [[1.0, 1.0, 1.0]] 2.13.0" for r in range(2)]
    assert done.stderr.count("backend 'nccl' is MPI here") == 1


def test_a_torch_program_finds_torchruns_variables_under_a_plain_mpiexec(tmp_path):
    program = tmp_path / "train.py"
    program.write_text(
        "import os, torch.distributed as dist\ndist.init_process_group('gloo')\n"
        'os.write(1, f\'{dist.get_rank()} {os.environ["LOCAL_RANK"]} {os.environ["WORLD_SIZE"]}\\n\'.encode())\n'
    )
    done = run(2, "-m", "undertow.as_torch", str(program))
    assert done.returncode == 0 and sorted(done.stdout.splitlines()) == ["0 0 2", "1 1 2"], done.stderr


def test_options_are_read_from_the_environment_and_the_command_line(monkeypatch):
    monkeypatch.setenv("PET_NPROC_PER_NODE", "3")
    args = parse_args(["--nnodes=2", "--max_restarts=4", "train.py", "--epochs", "3"])
    assert (args.nproc_per_node, args.nnodes, args.max_restarts) == ("3", "2", 4)
    assert (args.training_script, args.training_script_args) == ("train.py", ["--epochs", "3"])
