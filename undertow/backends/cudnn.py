"""Switches of cuDNN, which computes convolutions and attention on a GPU if it is installed."""

from __future__ import annotations

import sys as _sys

from undertow.backends._switches import SwitchModule as _SwitchModule
from undertow.backends._switches import flags_of as _flags_of
from undertow.cuda._library import available as _available

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

enabled = True  # use cuDNN if it is installed
benchmark = False  # measure several algorithms for a new shape, and keep the fastest
benchmark_limit = 10  # stored
deterministic = False  # only algorithms that always give the same bits
allow_tf32 = True  # float32 convolutions may round their operands to TF32
fp32_precision = "none"  # stored

_backend_switches = {name: f"cudnn.{name}" for name in ("enabled", "benchmark", "deterministic", "allow_tf32")}
_sys.modules[__name__].__class__ = _SwitchModule
flags = _flags_of(_sys.modules[__name__])


def is_available() -> bool:
    """Return True if there is a GPU. cuDNN itself is looked for at the first convolution; without it, other kernels compute it."""
    return _available()


def version() -> int | None:
    """Return None: the version is not known before the first convolution."""
    return None


def is_acceptable(tensor: Any) -> bool:
    """Return True if convolutions of such tensors may use cuDNN."""
    return tensor.is_cuda and enabled and str(tensor.dtype).rpartition(".")[2] in ("float16", "bfloat16", "float32", "float64")
