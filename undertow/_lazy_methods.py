"""Rarely used methods of Tensor, loaded on first use. See _tensor_methods.py."""

from __future__ import annotations

import undertow
from undertow._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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

    if self.layout is _C.sparse_coo:
        from undertow.sparse._create import new_coo

        return new_coo(self, *args, **options)
    return _C._legacy_tensor(self.dtype, args, options).to(self.device)


def chalf(self: Tensor, memory_format: Any = None) -> Tensor:
    """Convert to complex32, complex numbers of two float16 parts."""
    return self.to(undertow.complex32, memory_format=undertow.preserve_format if memory_format is None else memory_format)


def cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """Return the tensor on a GPU, the current one if none is given.

    >>> import undertow as ut
    >>> x = ut.ones(2).cuda() if ut.cuda.is_available() else ut.ones(2)
    """
    if device is None:
        device = "cuda"
    elif undertow.device(device).type != "cuda":
        raise RuntimeError(f"Invalid device, must be cuda device: {device}")
    if memory_format is None:
        memory_format = undertow.preserve_format
    return self.to(device, non_blocking=non_blocking, memory_format=memory_format)


def xpu(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """Raise: this build has no such device."""
    return self.to("xpu")


def record_stream(self: Tensor, stream: Any) -> None:
    """Say that the tensor is used on a stream other than the one it was created on.

    Its memory is then given to another tensor only after the work which that stream has when this tensor is destroyed.
    """
    if not self.is_cuda:
        raise RuntimeError(f"record_stream: expected a tensor on a CUDA device, but this one is on {self.device}")
    undertow.cuda._library.functions().record_stream(self.untyped_storage().data_ptr(), self.get_device(), stream.cuda_stream)


def cuda_array_interface(self: Tensor) -> dict[str, Any]:
    """Describe the memory of a tensor on a GPU for other libraries: version 2 of the protocol of Numba and CuPy."""
    if not self.is_cuda:
        raise AttributeError(
            f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {self.type()} "
            "If CUDA data is required use tensor.cuda() to copy tensor to device memory."
        )
    if self.is_sparse:
        raise AttributeError(
            f"Can't get __cuda_array_interface__ on sparse type: {self.type()} Use Tensor.to_dense() to convert to a dense tensor first."
        )
    if self.requires_grad:
        raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad. If gradients aren't required, use var.detach() first.")
    if self.dtype in (undertow.bfloat16, undertow.complex32) or self.itemsize * 8 not in (8, 16, 32, 64, 128):
        raise TypeError(f"__cuda_array_interface__: NumPy has no type for {self.dtype}")
    real = "f" if self.is_floating_point() else "i" if self.dtype.is_signed else "u"
    letter = "b" if self.dtype is undertow.bool else "c" if self.is_complex() else real
    strides = None if self.is_contiguous() else tuple(s * self.itemsize for s in self.stride())
    order = "|" if self.itemsize == 1 else "<"
    data = (self.data_ptr() if self.numel() else 0, False)
    return {"typestr": f"{order}{letter}{self.itemsize}", "shape": tuple(self.shape), "strides": strides, "data": data, "version": 2}


def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """Return the tensor that replaces this one in `load_state_dict` when swapping is on: `other` with `assign`, otherwise
        this tensor, detached, with the values of `other`."""
    return other if assign else self.detach().copy_(other)


def storage_type(self: Tensor) -> type:
    """Return the class of the typed storage."""
    from undertow.storage import TypedStorage

    return TypedStorage
