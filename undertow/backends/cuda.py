"""Switches of CUDA's matrix products, which trade accuracy for speed. Those of attention are stored and have no effect."""

from __future__ import annotations

import contextlib

from undertow.backends._switches import tell
from undertow.cuda._library import available

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class _Matmul:
    allow_tf32 = False  # may float32 products round their operands to TF32?
    allow_fp16_reduced_precision_reduction = True  # may sums of float16 products be rounded in between?
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False  # stored: sums are accumulated in float32
    fp32_precision = "none"

    _backend_switches = {
        "allow_tf32": "matmul.allow_tf32",
        "allow_fp16_reduced_precision_reduction": "matmul.allow_fp16_reduced_precision_reduction",
        "allow_bf16_reduced_precision_reduction": "matmul.allow_bf16_reduced_precision_reduction",
    }

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_") or name not in vars(type(self)):
            raise AttributeError(f"Unknown attribute {name}")
        super().__setattr__(name, value)
        tell(self._backend_switches, name, value)
        if name == "fp32_precision":
            self.allow_tf32 = value == "tf32"


matmul: _Matmul = _Matmul()
_attention = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def is_built() -> bool:
    """Return True if there is a GPU that can be used: the backend is opened at run time."""
    return available()




def enable_flash_sdp(enabled: bool) -> None:
    """Store the setting. It has no effect: there is one implementation of attention."""
    _attention["flash"] = bool(enabled)


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Store the setting. It has no effect: there is one implementation of attention."""
    _attention["mem_efficient"] = bool(enabled)


def enable_math_sdp(enabled: bool) -> None:
    """Store the setting. It has no effect: there is one implementation of attention."""
    _attention["math"] = bool(enabled)


def enable_cudnn_sdp(enabled: bool) -> None:
    """Store the setting. It has no effect: there is one implementation of attention."""
    _attention["cudnn"] = bool(enabled)


def flash_sdp_enabled() -> bool:
    """Return the setting of `enable_flash_sdp`."""
    return _attention["flash"]


def mem_efficient_sdp_enabled() -> bool:
    """Return the setting of `enable_mem_efficient_sdp`."""
    return _attention["mem_efficient"]


def math_sdp_enabled() -> bool:
    """Return the setting of `enable_math_sdp`."""
    return _attention["math"]


def cudnn_sdp_enabled() -> bool:
    """Return the setting of `enable_cudnn_sdp`."""
    return _attention["cudnn"]


@contextlib.contextmanager
def sdp_kernel(enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True) -> Iterator[None]:
    """Set the four switches of attention in the block."""
    before = dict(_attention)
    _attention.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield
    finally:
        _attention.update(before)
