"""Install the hook in processes that multiprocessing spawns, before they import the program.

Forked children have it already. For spawned processes, the preparation data that the parent sends before the main module is
imported contains an object that installs the hook when it is unpickled. Programs started with `subprocess` are not affected.
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
    """An object that installs the hook when it is unpickled."""

    def __reduce__(self) -> Any:
        return _install_in_child, ()


def follow() -> None:
    """Install the hook in children started from now on."""
    from multiprocessing import forkserver, spawn

    own = spawn.get_preparation_data
    if hasattr(own, "__undertow_own__"):
        return

    def get_preparation_data(name: str) -> dict[str, Any]:
        return {_KEY: _Reinstall(), **own(name)}  # first, so that it is unpickled before any object of the program

    get_preparation_data.__undertow_own__ = own  # type: ignore[attr-defined]  # where unfollow finds it
    spawn.get_preparation_data = get_preparation_data
    # The fork server would import the program's main module without the hook.
    preload = getattr(forkserver._forkserver, "_preload_modules", None)
    if preload == ["__main__"]:
        forkserver.set_forkserver_preload([])


def unfollow() -> None:
    """Do not install the hook in children started from now on."""
    spawn: Any = sys.modules.get("multiprocessing.spawn")
    own = getattr(getattr(spawn, "get_preparation_data", None), "__undertow_own__", None)
    if own is not None:
        spawn.get_preparation_data = own
