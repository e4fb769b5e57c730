"""How processes find each other without an MPI launcher: the environment, a file, a store; and what they open and say."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest
from ranks import LIMIT, PROGRAMS, environment, mpiexec, needs_mpi, run

pytestmark = [pytest.mark.mpi, needs_mpi]


def spawned(how: str, end: str, folder) -> subprocess.CompletedProcess[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        (folder / "port").write_text(str(free.getsockname()[1]))
    variables = {**environment(UNDERTOW_STORE_TOKEN="a secret of this test"), "TMPDIR": str(folder)}
    del variables["UCX_TLS"]  # the package must choose it
    command = [sys.executable, str(PROGRAMS / "spawned.py"), how, end, str(folder)]
    return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=LIMIT)


@pytest.mark.parametrize("how", ["env", "file", "store"])
def test_processes_of_a_program_meet_without_a_launcher(how, tmp_path):
    done = spawned(how, "well", tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["rank 0 has [1.0, 1.0]", "rank 1 has [1.0, 1.0]"]
    named = "nccl" if how == "store" else "gloo"
    assert done.stderr.count(f"backend '{named}' is MPI here") == 1


def test_a_killed_process_is_named_without_a_launcher(tmp_path):
    done = spawned("file", "killed", tmp_path)
    assert done.returncode != 0 and "signal SIGKILL" in done.stderr


def test_an_exception_of_a_process_is_the_error_of_the_program(tmp_path):
    done = spawned("file", "raises", tmp_path)
    assert done.returncode != 0 and "Process 1 terminated with the following error" in done.stderr and "ValueError: a bad sample" in done.stderr
    assert "[rank 1] raised ValueError; its last collective: all_reduce(float32[2], SUM)" in done.stderr


def test_a_group_can_be_made_again(tmp_path):
    program = "import os, undertow as ut, undertow.distributed as d\nfor _ in range(2):\n    d.init_process_group('mpi')\n    x = ut.ones(1)\n"
    program += "    d.all_reduce(x)\n    d.destroy_process_group()\nos.write(1, f'{x.item()}\\n'.encode())\n"
    (tmp_path / "program.py").write_text(program)
    done = run(2, str(tmp_path / "program.py"))
    assert (done.returncode, done.stdout) == (0, "2.0\n2.0\n"), done.stderr


def test_the_backend_mpi_needs_no_remark(tmp_path):
    (tmp_path / "program.py").write_text(
        "import os, undertow.distributed as d\nd.init_process_group('mpi')\nos.write(1, f'{d.get_world_size()} {d.get_backend()}\\n'.encode())\n"
    )
    done = run(2, str(tmp_path / "program.py"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "2 mpi\n2 mpi\n", "")


def test_a_wrong_world_size_is_reported(tmp_path):
    (tmp_path / "program.py").write_text("import undertow.distributed as d\nd.init_process_group('mpi', rank=0, world_size=3)\n")
    assert mpiexec() is not None
    done = run(2, str(tmp_path / "program.py"))
    assert done.returncode != 0 and "world_size is 3, but MPI has started 2 processes" in done.stderr
