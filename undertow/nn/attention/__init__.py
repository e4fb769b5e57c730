"""torch.nn.attention's selection of attention implementations. Undertow has one implementation, so the selection has no effect."""

from __future__ import annotations

from contextlib import contextmanager
from enum import Enum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(Enum):
    """torch's implementations of attention."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[None]:
    """Context manager that selects implementations in torch; it has no effect here.

    >>> with sdpa_kernel(SDPBackend.MATH):
    ...     pass
    """
    given = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(given, (list, tuple)) or not all(isinstance(b, SDPBackend) for b in given):
        raise AssertionError(f"Backend must be an instance of SDPBackend or a list of SDPBackend instances, got {backends!r}")
    yield
