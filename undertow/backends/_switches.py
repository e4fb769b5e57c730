"""Modules and objects whose attributes are switches of the CUDA backend: setting one tells the backend, if there is a GPU."""

from __future__ import annotations

from contextlib import contextmanager
from types import ModuleType

from undertow.cuda._library import available, functions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from typing import Any


def tell(names: dict[str, str], name: str, value: Any) -> None:
    """Set the switch of the backend that an attribute stands for, if it stands for one."""
    if name in names and available():
        functions().set_switch(names[name], bool(value))


class SwitchModule(ModuleType):
    """A module with switches: `_backend_switches` gives the backend's name of an attribute."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        tell(vars(self).get("_backend_switches", {}), name, value)


def flags_of(module: ModuleType) -> Callable[..., AbstractContextManager[None]]:
    """Return a context manager that sets switches of the module and restores them on exit."""

    @contextmanager
    def flags(**switches: Any) -> Iterator[None]:
        """Set the module's switches in the block."""
        unknown = [name for name in switches if name not in vars(module)]
        if unknown:
            raise TypeError(f"flags() got an unexpected keyword argument '{unknown[0]}'")
        before = {name: getattr(module, name) for name in switches}
        for name, value in switches.items():
            if value is not None:
                setattr(module, name, value)
        try:
            yield
        finally:
            for name, value in before.items():
                setattr(module, name, value)

    return flags
