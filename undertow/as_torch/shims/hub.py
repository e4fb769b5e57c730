"""Names of torch.hub that are not in undertow.hub."""

from __future__ import annotations

import re
from urllib.parse import urlparse as urlparse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["HASH_REGEX", "tqdm", "urlparse"]  # noqa: F822  (tqdm is found on first use)

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # the hash in a file's name: resnet18-bfd8deac.pth


class _NoBar:
    """What `tqdm` is without the package: counts, and shows nothing."""

    def __init__(self, iterable: Any = None, *, total: int | None = None, disable: bool = False, **options: Any) -> None:
        self.iterable, self.total, self.disable, self.n = iterable, total, disable, 0

    def __iter__(self) -> Any:
        return iter(self.iterable if self.iterable is not None else ())

    def update(self, n: int = 1) -> None:
        """Count."""
        self.n += n

    def set_description(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""

    def __enter__(self) -> _NoBar:
        return self

    def __exit__(self, *error: object) -> None: ...


def __getattr__(name: str) -> Any:
    if name != "tqdm":
        raise AttributeError(f"module 'torch.hub' has no attribute {name!r}")
    try:
        from tqdm import tqdm
    except ImportError:
        return _NoBar
    return tqdm
