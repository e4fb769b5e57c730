"""Switches of CUDA's matrix products and attention. They are stored and have no effect."""

from __future__ import annotations

import contextlib

from undertow._absent_devices import answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class _Matmul:
    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False
    fp32_precision = "none"


matmul: _Matmul = _Matmul()
_attention = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}
is_built: Callable[..., bool] = answer("is_built", False)


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
