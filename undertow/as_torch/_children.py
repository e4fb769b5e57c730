"""Install the hook in processes that multiprocessing or joblib (loky) spawns, before they import the program.

Forked children have it already. For spawned processes, the preparation data that the parent sends before the main module is
imported contains an object that installs the hook when it is unpickled. Programs started with `subprocess` are not affected.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_KEY = "undertow_as_torch"
# Modules whose get_preparation_data makes what a spawned process reads first. loky has a copy of multiprocessing's.
_MULTIPROCESSING = "multiprocessing.spawn"
LOKY = ("joblib.externals.loky.backend.spawn", "loky.backend.spawn")


def _install_in_child() -> bool:
    from undertow.as_torch._hook import install

    install()
    return True


class _Reinstall:
    """An object that installs the hook when it is unpickled."""

    def __reduce__(self) -> Any:
        return _install_in_child, ()


def follow() -> None:
    """Install the hook in children started from now on. The hook calls `follow_module` for modules of loky that are imported later."""
    from multiprocessing import forkserver, spawn

    for module in (spawn, *(sys.modules[name] for name in LOKY if name in sys.modules)):
        follow_module(module)
    # The fork server would import the program's main module without the hook.
    preload = getattr(forkserver._forkserver, "_preload_modules", None)
    if preload == ["__main__"]:
        forkserver.set_forkserver_preload([])


def follow_module(module: Any) -> None:
    """Install the hook in children that get their preparation data from this module."""
    own = module.get_preparation_data
    if hasattr(own, "__undertow_own__"):
        return

    def get_preparation_data(*args: Any, **kwargs: Any) -> dict[str, Any]:
        return {_KEY: _Reinstall(), **own(*args, **kwargs)}  # first, so that it is unpickled before any object of the program

    get_preparation_data.__undertow_own__ = own  # type: ignore[attr-defined]  # where unfollow finds it
    module.get_preparation_data = get_preparation_data


def unfollow() -> None:
    """Do not install the hook in children started from now on."""
    for name in (_MULTIPROCESSING, *LOKY):
        module: Any = sys.modules.get(name)
        own = getattr(getattr(module, "get_preparation_data", None), "__undertow_own__", None)
        if own is not None:
            module.get_preparation_data = own
