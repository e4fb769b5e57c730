"""Which rank this process has in its job: for what writes files and prints, without loading undertow.distributed."""

from __future__ import annotations

import os

# Rank and size, as torchrun and the launchers of MPI give them.
_VARIABLES = (("RANK", "WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"))
known: tuple[int, int] | None = None  # rank and number of ranks; init_process_group sets it, and it stays when the group is destroyed


def rank_and_size() -> tuple[int, int] | None:
    """Return this process's rank and the number of ranks, of the process group or as a launcher says; None in a job of one process."""
    found = known
    for names in _VARIABLES if found is None else ():
        rank, size = (os.environ.get(name, "") for name in names)
        if rank.isdecimal() and size.isdecimal():
            found = int(rank), int(size)
            break
    return found if found is not None and found[1] > 1 else None


def with_rank(text: str) -> str:
    """Return a text with this process's rank.

    >>> with_rank("train.py")
    'train.py'
    """
    found = rank_and_size()
    return text if found is None else f"{text}, rank {found[0]} of {found[1]}"


def is_first() -> bool:
    """Return True in the process that prints for all: rank 0, or the only one."""
    found = rank_and_size()
    return found is None or found[0] == 0
