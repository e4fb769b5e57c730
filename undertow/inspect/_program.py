"""Recording a whole program: `UNDERTOW_INSPECT=out.html python train.py`, or `python -m undertow.inspect train.py`."""

from __future__ import annotations

import atexit
import os
import sys

from undertow._ranks import rank_and_size
from undertow.inspect._record import record
from undertow.inspect._tables import counted
from undertow.inspect._torch import record_torch

MOST_EVENTS = 2_000_000  # per thread; what comes later is left out


def start_from_environment() -> None:
    """Record this program if UNDERTOW_INSPECT names a file. Programs that it starts are not recorded."""
    path = os.environ.pop("UNDERTOW_INSPECT")
    values = os.environ.pop("UNDERTOW_INSPECT_VALUES", "") not in ("", "0")
    start(path, values=values)


def ranked(path: str) -> str:
    """Return the path with the process's rank, if there are several ranks: run.rank1.html.

    >>> ranked("run.html")
    'run.html'
    """
    found, rank = rank_and_size(), os.environ.get("RANK", "")
    if found is not None:
        rank = str(found[0])
    stem, suffix = os.path.splitext(path)
    return f"{stem}.rank{rank}{suffix}" if rank.isdecimal() else path


def start(path: str, *, values: bool = False, torch: bool = False) -> None:
    """Record from now on; when the program ends, write the recording to `path`: a page if it ends in .html, otherwise a file.

    `torch` records the real PyTorch instead.
    """
    path = os.path.abspath(ranked(path))  # the program may change its folder
    recorder: record | record_torch = record_torch() if torch else record(forward=True, values=values, most_events=MOST_EVENTS)
    recording = recorder.__enter__()
    process = os.getpid()

    def finish() -> None:
        if os.getpid() != process:  # a fork
            return
        recorder.__exit__(None, None, None)
        try:
            if path.endswith((".html", ".htm")):
                recording.to_html(path)
            else:
                recording.save(path)
        except OSError as error:
            print(f"inspect: cannot write {path}: {error}", file=sys.stderr)
            return
        print(f"inspect: wrote {path} ({counted(recording.passes, 'pass', 'passes')})", file=sys.stderr)

    atexit.register(finish)
