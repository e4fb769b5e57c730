"""torch.nn.attention's names for the ways to compute attention. Here is one way, so choosing changes nothing."""

from __future__ import annotations

from contextlib import contextmanager
from enum import Enum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(Enum):
    """The ways that torch knows."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[None]:
    """Says which ways are allowed inside.

    >>> with sdpa_kernel(SDPBackend.MATH):
    ...     pass
    """
    given = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(given, (list, tuple)) or not all(isinstance(b, SDPBackend) for b in given):
        raise AssertionError(f"Backend must be an instance of SDPBackend or a list of SDPBackend instances, got {backends!r}")
    yield
