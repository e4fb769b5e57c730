"""Names of `torch.library` that only programs written for torch use."""

from __future__ import annotations

from contextlib import contextmanager

from undertow.library import Library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["_scoped_library"]


@contextmanager
def _scoped_library(*args: Any, **kwargs: Any) -> Iterator[Library]:
    """Context manager: a Library whose definitions and kernels end with the block."""
    library = Library(*args, **kwargs)
    try:
        yield library
    finally:
        library._destroy()
