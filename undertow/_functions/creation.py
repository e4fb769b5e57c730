"""Create tensors from Python objects, sharing memory where possible (`as_tensor`, `asarray`, `new_tensor`), and `empty_permuted`."""

from __future__ import annotations

import undertow
from undertow import _C
from undertow._C import Tensor
from undertow._override import overridable_by_modes
from undertow._tensor_methods import _overridable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


def _from_foreign(data: Any) -> Tensor | None:
    """Return a tensor that shares the memory of another library's array, or None if `data` is not such an array."""
    kind = type(data)
    if kind.__name__ == "PyCapsule":
        return undertow.from_dlpack(data)
    if hasattr(kind, "__dlpack__") and not hasattr(kind, "__array_interface__"):
        try:
            return undertow.from_dlpack(data)
        except (BufferError, TypeError):  # memory that may not be written, or a keyword that an older protocol does not have
            if not hasattr(kind, "__array__"):
                raise
    if hasattr(data, "__array_interface__") or hasattr(kind, "__array__"):
        import numpy

        array = numpy.asarray(data)
        if array.flags.writeable and all(s >= 0 for s in array.strides):
            return None if isinstance(data, numpy.generic) else undertow.from_numpy(array)
        return None if isinstance(data, (numpy.ndarray, numpy.generic)) else undertow.from_numpy(array.copy())
    return None


@overridable_by_modes
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """Convert `data` to a tensor. Tensors and arrays with the right dtype and device are returned or share memory; others are copied."""
    if isinstance(data, Tensor):
        return data.to(device, dtype)
    shared = _from_foreign(data)
    if shared is None:
        return undertow.tensor(data, dtype=dtype, device=device)
    return shared.to(_C._default_device() if device is None else device, dtype)


@overridable_by_modes
def asarray(obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool | None = None) -> Tensor:
    """Convert `obj` to a tensor. copy=True always copies, copy=False raises if a copy is needed, None copies only if needed.

    A tensor keeps its graph unless requires_grad=False is passed, which detaches it.
    """
    source = obj if isinstance(obj, Tensor) else _from_foreign(obj)
    if source is None and isinstance(obj, (bytes, bytearray, memoryview)) and hasattr(undertow, "frombuffer"):
        source = undertow.frombuffer(obj, dtype=dtype or undertow.get_default_dtype())
    if isinstance(obj, _C.UntypedStorage):
        kind = dtype or undertow.get_default_dtype()
        source = _C._tensor_over(obj, kind, 0, (obj.nbytes() // kind.itemsize,), (1,))
    if source is None:
        if copy is False:
            if hasattr(type(obj), "__array_interface__"):
                raise RuntimeError("can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray.")
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return undertow.tensor(obj, dtype=dtype, device=device, requires_grad=bool(requires_grad))
    place = source.device if device is None else undertow.device(device)
    converts = dtype is not None and dtype != source.dtype
    if copy is False and converts:
        raise ValueError(f"can't alias tensor with dtype '{source.dtype}' into dtype '{dtype}'.")
    if copy is False and place.type != source.device.type:
        raise ValueError(f"can't alias tensor from device '{source.device}' to '{place}'.")
    result = source.to(place, dtype) if converts or place.type != source.device.type else source.clone() if copy else source
    if requires_grad and not result.requires_grad:
        return (result.detach() if result is obj else result).requires_grad_()
    if requires_grad is False and result.requires_grad and isinstance(obj, Tensor):
        return result.detach()
    return result


@overridable_by_modes
def empty_permuted(size: Sequence[int], physical_layout: Sequence[int], **options: Any) -> Tensor:
    """Create an uninitialised tensor whose dimensions are stored in the order of `physical_layout`, outermost first.

    >>> import undertow as ut
    >>> ut.empty_permuted((2, 3), (1, 0)).stride()
    (1, 2)
    """
    if len(physical_layout) == len(size):
        for place, d in enumerate(physical_layout):
            if not 0 <= d < len(size):
                raise RuntimeError(f"Dimension out of range (expected to be in range of [0, {len(size) - 1}], but got {d} at index {place})")
        if len(set(physical_layout)) < len(size):
            raise RuntimeError(f"Duplicate dim not allowed: got physical_layout={tuple(physical_layout)}")
    else:
        raise RuntimeError(
            f"Number of dimensions in size does not match the length of the physical_layout: {tuple(size)} and {tuple(physical_layout)}"
        )
    back = [list(physical_layout).index(d) for d in range(len(size))]
    return undertow.empty([size[d] for d in physical_layout], **options).permute(back)


@_overridable
def new_tensor(self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Create a tensor from `data`, always a copy, with self's dtype and device by default."""
    device = self.device if device is None else device
    return undertow.tensor(data, dtype=self.dtype if dtype is None else dtype, device=device, requires_grad=requires_grad)


Tensor.new_tensor = new_tensor  # type: ignore[method-assign]  # the stub declares it
