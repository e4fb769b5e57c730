"""Rarely used methods of Tensor, loaded on first use. See _tensor_methods.py."""

from __future__ import annotations

import undertow
from undertow._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


def dim_order(self: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """Return the dimensions in memory order, outermost first.

    `ambiguity_check=True` raises if another order describes the same memory; with a list of memory formats, if not exactly one of them fits.
    """
    if isinstance(ambiguity_check, (list, tuple)) and all(isinstance(f, undertow.memory_format) for f in ambiguity_check):
        unclear = sum(self.is_contiguous(memory_format=f) for f in ambiguity_check) != 1
    elif isinstance(ambiguity_check, bool):
        steps = [s for s, n in zip(self.stride(), self.shape, strict=True) if n != 1]
        unclear = ambiguity_check and (len(set(steps)) < len(steps) or len(steps) < self.dim())
    else:
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    if unclear:
        raise RuntimeError("The tensor does not have unique dim order, or cannot map to exact one of the given memory formats.")
    return tuple(sorted(range(self.dim()), key=lambda d: (-self.stride()[d], d)))


def new(self: Tensor, *args: Any, **options: Any) -> Tensor:
    """Create a tensor with this tensor's dtype: uninitialised, from sizes, or from data."""
    from undertow import _C

    return _C._legacy_tensor(self.dtype, args, options)


def chalf(self: Tensor, memory_format: Any = None) -> Tensor:
    """Convert to complex32, complex numbers of two float16 parts."""
    return self.to(undertow.complex32, memory_format=undertow.preserve_format if memory_format is None else memory_format)


def cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """Raise: this build has no such device."""
    return self.to("cuda")


def xpu(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """Raise: this build has no such device."""
    return self.to("xpu")


def record_stream(self: Tensor, stream: Any) -> NoReturn:
    """Raise: there are no streams."""
    raise AssertionError("Torch not compiled with CUDA enabled; record_stream: this build of Undertow computes on the CPU only")


def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """Return the tensor that replaces this one in `load_state_dict` when swapping is on: `other` with `assign`, otherwise
        this tensor, detached, with the values of `other`."""
    return other if assign else self.detach().copy_(other)


def storage_type(self: Tensor) -> type:
    """Return the class of the typed storage."""
    from undertow.storage import TypedStorage

    return TypedStorage
