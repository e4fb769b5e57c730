"""Switches of cuDNN, which Undertow does not use."""

from __future__ import annotations

from undertow._absent_devices import answer
from undertow.as_torch.shims.backends._flags import flags_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

enabled = True
benchmark = False
benchmark_limit = 10
deterministic = False
allow_tf32 = True
fp32_precision = "none"
flags: Callable[..., AbstractContextManager[None]] = flags_of(__name__)
is_available: Callable[..., bool] = answer("is_available", False)
version: Callable[..., None] = answer("version", None)
is_acceptable: Callable[..., bool] = answer("is_acceptable", False)
