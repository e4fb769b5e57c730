"""Source lines as people read them: a cell of a notebook by its number instead of its temporary file."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def shown_file(path: str) -> str:
    """Return the name to show for a source file: "Cell In[3]" for a cell of a notebook, otherwise the path."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    cell = getattr(getattr(shell, "compile", None), "_filename_map", {}).get(path)
    return path if cell is None else f"Cell In[{cell}]"


def shown_line(line: str) -> str:
    """Return a line as file:line, with the cell's number for a notebook.

    >>> shown_line("train.py:12")
    'train.py:12'
    """
    path, _, number = line.rpartition(":")
    name = shown_file(path)
    return line if name == path else f"{name}, line {number}"
