"""Starts the program of one rank: `python rank.py SETTINGS program arguments`. The launcher starts it through mpiexec, or directly.

It turns what MPI's launcher says about the process into torchrun's environment variables, redirects output if asked, and becomes the
program. A file of its own with standard modules only, because it runs once per rank before anything else.
"""

import json
import os
import signal
import sys

_LOCAL = (("MPI_LOCALRANKID", "MPI_LOCALNRANKS"), ("OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"))
_WORLD = (("PMI_RANK", "PMI_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"))


def _first(pairs: tuple[tuple[str, str], ...], otherwise: tuple[int, int]) -> tuple[int, int]:
    """Return rank and size from the first pair of variables that is set."""
    for rank, size in pairs:
        if rank in os.environ and size in os.environ:
            return int(os.environ[rank]), int(os.environ[size])
    return otherwise


def _variables(settings: dict[str, str]) -> dict[str, str]:
    """Return torchrun's variables of this process."""
    rank, size = _first(_WORLD, (int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))))
    per_host = int(settings["nproc"])
    local, local_size = _first(_LOCAL, (rank % per_host, per_host))
    return {
        "RANK": str(rank),
        "WORLD_SIZE": str(size),
        "LOCAL_RANK": str(local),
        "LOCAL_WORLD_SIZE": str(local_size),
        "GROUP_RANK": str(rank // per_host),
        "GROUP_WORLD_SIZE": str(-(-size // per_host)),
        "ROLE_RANK": str(rank),
        "ROLE_WORLD_SIZE": str(size),
        "ROLE_NAME": settings["role"],
        "MASTER_ADDR": settings["address"],
        "MASTER_PORT": settings["port"],
        "TORCHELASTIC_RESTART_COUNT": settings["restarts"],
        "TORCHELASTIC_MAX_RESTARTS": settings["max_restarts"],
        "TORCHELASTIC_RUN_ID": settings["id"],
        "TORCHELASTIC_USE_AGENT_STORE": "False",
        "TORCHELASTIC_ERROR_FILE": os.path.join(settings["folder"], f"error.{rank}.json"),
        "UNDERTOW_RUN_FOLDER": settings["folder"],
    }


def fill_environment() -> None:
    """Under a plain mpiexec, set the variables that programs for torchrun read, unless something else has."""
    if "RANK" in os.environ or _first(_WORLD, (0, 0)) == (0, 0):
        return
    rank, size = _first(_WORLD, (0, 1))
    local, local_size = _first(_LOCAL, (rank, size))
    found = {"RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": local, "LOCAL_WORLD_SIZE": local_size, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": 29500}
    for name, value in found.items():
        os.environ.setdefault(name, str(value))


def _redirect(settings: dict[str, str], local: str) -> None:
    """Send the output of this process to files, or nowhere if the rank is filtered out."""
    shown = settings["shown"].split(",") if settings["shown"] else None
    chosen = settings["redirects"]
    if ":" in chosen:
        chosen = dict(part.split(":") for part in chosen.split(",")).get(local, "0")
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        if int(chosen) & descriptor:
            folder = os.path.join(settings["logs"], local)
            os.makedirs(folder, exist_ok=True)
            path = os.path.join(folder, f"{name}.log")
        elif shown is not None and local not in shown:
            path = os.devnull
        else:
            continue
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), descriptor)


def main() -> None:
    """Become the program."""
    settings, command = json.loads(sys.argv[1]), sys.argv[2:]
    variables = _variables(settings)
    os.environ.update(variables)
    _redirect(settings, variables["LOCAL_RANK"])
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # MPICH's launcher sends it when another rank dies; ours explains that instead
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
