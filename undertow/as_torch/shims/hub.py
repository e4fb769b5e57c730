"""Names of torch.hub that are not in undertow.hub."""

from __future__ import annotations

import re
from urllib.parse import urlparse as urlparse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["HASH_REGEX", "tqdm", "urlparse"]  # noqa: F822  (tqdm is found on first use)

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # the hash in a file's name: resnet18-bfd8deac.pth


def __getattr__(name: str) -> Any:
    if name != "tqdm":
        raise AttributeError(f"module 'torch.hub' has no attribute {name!r}")
    try:
        from tqdm import tqdm
    except ImportError:
        raise AttributeError("torch.hub.tqdm needs the package tqdm: pip install tqdm") from None
    return tqdm
