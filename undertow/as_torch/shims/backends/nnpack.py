"""NNPACK: not used."""

from __future__ import annotations

from undertow._absent_devices import answer
from undertow.as_torch.shims.backends._flags import flags_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

enabled = False
flags: Callable[..., AbstractContextManager[None]] = flags_of(__name__)
is_available: Callable[..., bool] = answer("is_available", False)
