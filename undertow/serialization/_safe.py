"""Classes and functions that the program itself has called safe: files may then name them, and `save` writes instances of them.

Nothing is on the list unless the program puts it there; a file cannot add to it.
"""

from __future__ import annotations

import functools

from undertow.serialization._machine import Builder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_listed: dict[str, Any] = {}  # by the name that files use


def _named(entry: Any) -> tuple[str, Any]:
    if isinstance(entry, tuple):
        return entry[1], entry[0]
    return f"{entry.__module__}.{entry.__qualname__}", entry


def add_safe_globals(safe_globals: Sequence[Any]) -> None:
    """From now on files may name these classes and functions, each given by itself or with the name that files use, (what, name).

    >>> add_safe_globals([range])
    >>> get_safe_globals()
    [<class 'range'>]
    >>> clear_safe_globals()
    """
    _listed.update(_named(entry) for entry in safe_globals)


def clear_safe_globals() -> None:
    """Empties the list."""
    _listed.clear()


def get_safe_globals() -> list[Any]:
    """What is on the list."""
    return [what if _named(what)[0] == name else (what, name) for name, what in _listed.items()]


class safe_globals:
    """Adds to the list for a block."""

    def __init__(self, safe_globals: Sequence[Any]) -> None:
        self._added = safe_globals

    def __enter__(self) -> None:
        self._before = dict(_listed)
        add_safe_globals(self._added)

    def __exit__(self, *error: Any) -> None:
        clear_safe_globals()
        _listed.update(self._before)


def listed_name(cls: type) -> tuple[str, str] | None:
    """Module and name by which a file names the class, if it is on the list."""
    for name, what in _listed.items():
        if what is cls:
            return name.rpartition(".")[0], name.rpartition(".")[2]
    return None


def find(path: str) -> Builder | None:
    """What a file means by the name, if the program has listed it: it is called as Python's unpickler would."""
    what = _listed.get(path)
    if what is None:
        return None
    new = functools.partial(what.__new__, what) if isinstance(what, type) else None
    return Builder(path, lambda machine, *arguments: what(*arguments), new, _set_state)


def _set_state(target: Any, state: Any) -> None:
    if hasattr(target, "__setstate__"):
        target.__setstate__(state)
        return
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    if attributes:
        target.__dict__.update(attributes)
    for name, value in (slots or {}).items():
        setattr(target, name, value)
