"""Runs the checks of one program on this rank, and writes the outcome of each to a file: python run_checks.py PROGRAM FOLDER [BACKEND]."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import traceback
from datetime import timedelta
from pathlib import Path

import undertow.distributed as dist


def main() -> None:
    name, folder, *backend = sys.argv[1:]
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parent / "programs" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    sys.modules[name] = program
    spec.loader.exec_module(program)
    dist.init_process_group(*backend or ["mpi"], os.environ.get("MEET"), timeout=timedelta(seconds=60))
    rank, size = dist.get_rank(), dist.get_world_size()
    outcomes: dict[str, str] = {}
    for check in [value for key, value in vars(program).items() if key.startswith("check_")]:
        try:
            check(dist, rank, size)
            outcomes[check.__name__] = "ok"
        except BaseException:
            outcomes[check.__name__] = traceback.format_exc()
        (Path(folder) / f"rank {rank}.json").write_text(json.dumps(outcomes))
        if outcomes[check.__name__] != "ok":
            raise SystemExit(1)  # the other ranks notice
        dist.barrier()
    dist.destroy_process_group()


main()
