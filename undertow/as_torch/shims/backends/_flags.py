"""`flags` of a backend: set its switches in a `with` block."""

from __future__ import annotations

import contextlib
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


def flags_of(module: str) -> Callable[..., contextlib.AbstractContextManager[None]]:
    """Return a context manager that sets attributes of `module` and restores them on exit."""

    @contextlib.contextmanager
    def flags(**switches: Any) -> Iterator[None]:
        """Set the module's switches in the block."""
        names = vars(sys.modules[module])
        unknown = [name for name in switches if name not in names]
        if unknown:
            raise TypeError(f"flags() got an unexpected keyword argument '{unknown[0]}'")
        before = {name: names[name] for name in switches}
        names.update({name: value for name, value in switches.items() if value is not None})
        try:
            yield
        finally:
            names.update(before)

    return flags
