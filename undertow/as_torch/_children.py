"""Processes that multiprocessing starts anew get the hook before they import the program.

Forked children have it already. For the others the data that the parent sends ahead of the program's main module
carries an object whose unpickling installs the hook. Programs that `subprocess` starts are other programs: they are
left alone.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_KEY = "undertow_as_torch"


def _install_in_child() -> bool:
    from undertow.as_torch._hook import install

    install()
    return True


class _Reinstall:
    """Unpickles by installing the hook."""

    def __reduce__(self) -> Any:
        return _install_in_child, ()


def follow() -> None:
    """Children started from now on get the hook."""
    from multiprocessing import forkserver, spawn

    own = spawn.get_preparation_data
    if hasattr(own, "__undertow_own__"):
        return

    def get_preparation_data(name: str) -> dict[str, Any]:
        return {_KEY: _Reinstall(), **own(name)}  # first: it must be unpickled before anything of the program's

    get_preparation_data.__undertow_own__ = own
    spawn.get_preparation_data = get_preparation_data
    # The fork server would import the program's main module without the hook.
    preload = getattr(forkserver._forkserver, "_preload_modules", None)
    if preload == ["__main__"]:
        forkserver.set_forkserver_preload([])


def unfollow() -> None:
    """Children started from now on do not get it."""
    spawn: Any = sys.modules.get("multiprocessing.spawn")
    own = getattr(getattr(spawn, "get_preparation_data", None), "__undertow_own__", None)
    if own is not None:
        spawn.get_preparation_data = own
