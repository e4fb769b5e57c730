"""Support for tensors in pickle, copy.copy and copy.deepcopy.

A tensor is pickled as the bytes of its storage and its layout over them. Storage is seen only as a flat
memoryview, or on a GPU as itself. Classes are kept, hooks and history are not.

Note [Pickled Buffers]: Tensors that share storage share it again after loading. Pickle and deepcopy
identify objects by identity, and `_buffer_of` returns the same object for a storage while that object
is alive; the pickler's memo keeps it alive. The memoryview in the object keeps the storage alive, so
its address cannot be reused for another storage in the meantime. `rebuild` and `_load_buffer` are
named in pickles on disk, so their names and arguments must not change.
"""

from __future__ import annotations

import undertow
from undertow import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import MutableMapping
    from typing import Any

    from undertow import Tensor

_buffers: MutableMapping[int, _Buffer | _DeviceBuffer] | None = None  # weak values by address; created on first use


class _Buffer:
    """The bytes of one storage; pickle and deepcopy copy them once."""

    __slots__ = ("__weakref__", "view")

    def __init__(self, view: memoryview) -> None:
        self.view = view

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        if protocol < 5:
            return _load_buffer, (bytes(self.view),)
        from pickle import PickleBuffer

        return _load_buffer, (PickleBuffer(self.view),)

    def __deepcopy__(self, memo: dict[int, Any]) -> _Buffer:
        return _load_buffer(self.view.toreadonly())


class _DeviceBuffer:
    """The bytes of one storage on a GPU. Copies are made on that GPU; a pickle has the bytes and the device's name."""

    __slots__ = ("__weakref__", "view")

    def __init__(self, view: _C.UntypedStorage) -> None:
        self.view = view

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _load_device_buffer, (_Buffer(memoryview(self.view.cpu())), str(self.view.device))

    def __deepcopy__(self, memo: dict[int, Any]) -> _DeviceBuffer:
        return _DeviceBuffer(self.view.clone())


def _load_device_buffer(data: _Buffer, device: str) -> _DeviceBuffer:
    """Copy the bytes of a pickle to the device that they came from."""
    return _DeviceBuffer(_C._storage_from_buffer(data.view).to(device))


def _load_buffer(data: Any) -> _Buffer:
    """Create a buffer over `data`, or over a copy of it if it is read-only."""
    view = memoryview(data).cast("B")
    return _Buffer(memoryview(_C._storage_from_buffer(view)))


def _buffer_of(t: Tensor) -> _Buffer | _DeviceBuffer:
    """Return the buffer object of the tensor's storage. See Note [Pickled Buffers]."""
    return buffer_of_storage(t.untyped_storage())


def storage_of_buffer(buffer: _Buffer | _DeviceBuffer) -> _C.UntypedStorage:
    """Return the storage of a buffer; called when a pickled storage is loaded."""
    return buffer.view if isinstance(buffer, _DeviceBuffer) else _C._storage_from_buffer(buffer.view)


def buffer_of_storage(storage: _C.UntypedStorage) -> _Buffer | _DeviceBuffer:
    """Return the buffer object of a storage. See Note [Pickled Buffers]."""
    global _buffers
    if _buffers is None:
        from weakref import WeakValueDictionary

        _buffers = WeakValueDictionary()
    made = _DeviceBuffer(storage) if storage.is_cuda else _Buffer(memoryview(storage))
    if not storage.nbytes():
        return made
    known = _buffers.get(storage.data_ptr())
    if known is None or len(known.view) != storage.nbytes():
        known = _buffers[storage.data_ptr()] = made
    return known


def _layout_of(t: Tensor) -> tuple[Any, ...]:
    """Return the arguments of `rebuild` after the class and the buffer."""
    dtype = str(t.dtype).rpartition(".")[2]
    return dtype, t.storage_offset(), tuple(t.shape), tuple(t.stride()), t.requires_grad


def _class_of(t: Tensor) -> Any:
    """Return the tensor's class. Under as_torch our own classes have torch's names; then the name, so that the pickle can be read without it."""
    cls = type(t)
    return cls.__name__ if cls in (_C.Tensor, _C.Parameter) and not cls.__module__.startswith("undertow") else cls


def rebuild(
    cls: type[Tensor] | str,
    buffer: _Buffer | _DeviceBuffer,
    dtype: str,
    offset: int,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    requires_grad: bool,
) -> Tensor:
    """Create a leaf of class `cls` over a buffer; called when a pickled tensor is loaded.

    >>> import pickle
    >>> import undertow as ut
    >>> pickle.loads(pickle.dumps(ut.eye(2)[0]))
    tensor([1., 0.])
    """
    t = _C._tensor_over(buffer.view, getattr(undertow, dtype), offset, size, stride)
    return _as_class(t, cls).requires_grad_(requires_grad)


def _as_class(t: Tensor, cls: Any) -> Tensor:
    if isinstance(cls, str):
        cls = {"Tensor": _C.Tensor, "Parameter": _C.Parameter}[cls]
    # as_subclass would return a view, and a copied parameter must be none: detach_() is allowed on it
    return t if cls is _C.Tensor else _C.Tensor._make_subclass(cls, t)


def rebuild_meta(cls: type[Tensor] | str, dtype: str, size: tuple[int, ...], stride: tuple[int, ...], requires_grad: bool) -> Tensor:
    """Create a leaf of class `cls` on the meta device; called when a pickled meta tensor is loaded."""
    t = undertow.empty_strided(size, stride, dtype=getattr(undertow, dtype), device="meta")
    return _as_class(t, cls).requires_grad_(requires_grad)


def rebuild_sparse(
    cls: type[Tensor], layout: Any, indices: Tensor, plain: Tensor | None, values: Tensor, coalesced: bool, size: tuple[int, ...], requires_grad: bool
) -> Tensor:
    """Create a sparse leaf of class `cls` from its parts; called when a pickled sparse tensor is loaded."""
    t = _C._make_sparse(layout, indices, plain, values, coalesced, size)
    return _as_class(t, cls).requires_grad_(requires_grad)


def is_wrapper(t: Tensor) -> bool:
    """Return True for a tensor without memory, made by `_make_wrapper_subclass`."""
    return _C._is_dispatched(t) and _C._has_no_memory(t)


def _wrapper_layout_of(t: Tensor) -> tuple[Any, ...]:
    return str(t.dtype).rpartition(".")[2], tuple(t.shape), tuple(t.stride()), t.storage_offset(), str(t.device), t.requires_grad


def rebuild_wrapper(
    cls: type[Tensor], dtype: str, size: tuple[int, ...], stride: tuple[int, ...], offset: int, device: str, requires_grad: bool
) -> Tensor:
    """Create a leaf of class `cls` without memory; its attributes follow as the state of the pickle."""
    kind = getattr(undertow, dtype)
    return _C.Tensor._make_wrapper_subclass(cls, size, stride, offset, dtype=kind, device=device, requires_grad=requires_grad)


def _meta_layout_of(t: Tensor) -> tuple[Any, ...]:
    dtype, _, size, stride, requires_grad = _layout_of(t)
    return dtype, size, stride, requires_grad


def dtype_by_name(name: str) -> Any:
    """Return a dtype, layout or memory format by its name; called when a pickled one is loaded."""
    return getattr(_C, name)


def reduce_ex(t: Tensor, protocol: Any) -> tuple[Any, ...]:
    """`Tensor.__reduce_ex__`: its class, bytes, layout and attributes.

    From protocol 5 on, the bytes can be passed out of band without a copy. The loaded tensor is a leaf.

    >>> import copy
    >>> import undertow as ut
    >>> x = ut.ones(2, requires_grad=True)
    >>> copy.copy(x).data_ptr() == x.data_ptr()
    True
    """
    from undertow.utils.hooks import warn_if_has_hooks

    warn_if_has_hooks(t)
    if is_wrapper(t):
        return rebuild_wrapper, (type(t), *_wrapper_layout_of(t)), t.__getstate__() or None
    if t.is_meta:
        return rebuild_meta, (_class_of(t), *_meta_layout_of(t)), t.__getstate__() or None
    if t.layout is not _C.strided:
        return rebuild_sparse, (type(t), *_C._sparse_parts(t), tuple(t.shape), t.requires_grad), t.__getstate__() or None
    return rebuild, (_class_of(t), _buffer_of(t), *_layout_of(t)), t.__getstate__() or None


def deepcopy(t: Tensor, memo: dict[int, Any]) -> Tensor:
    """`Tensor.__deepcopy__`: a leaf with its own storage, gradient and attributes.

    >>> import copy
    >>> import undertow as ut
    >>> x = ut.ones(2, requires_grad=True)
    >>> (x * 3).sum().backward()
    >>> y = copy.deepcopy(x)
    >>> y.grad
    tensor([3., 3.])
    """
    if not t.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            f"protocol at the moment: this one was created by {t.grad_fn}; detach() it first"
        )
    if id(t) in memo:
        return memo[id(t)]
    from copy import deepcopy as deep

    if t.layout is not _C.strided:
        new = rebuild_sparse(type(t), *deep(_C._sparse_parts(t), memo), tuple(t.shape), t.requires_grad)
    elif is_wrapper(t):
        new = rebuild_wrapper(type(t), *_wrapper_layout_of(t))
    elif t.is_meta:
        new = rebuild_meta(type(t), *_meta_layout_of(t))
    else:
        new = rebuild(type(t), deep(_buffer_of(t), memo), *_layout_of(t))
    memo[id(t)] = new  # set before gradient and attributes are copied, because they may refer to this tensor
    if t.grad is not None:
        new.grad = deep(t.grad, memo)
    _set_state(new, deep(t.__getstate__() or None, memo))
    return new


def _set_state(t: Tensor, state: Any) -> None:
    """Set the attributes of a tensor from a pickled state, as pickle does by default."""
    if state is None:
        return
    if hasattr(t, "__setstate__"):
        t.__setstate__(state)
        return
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    if attributes:
        t.__dict__.update(attributes)
    for name, value in (slots or {}).items():
        setattr(t, name, value)


def generator_of(state: Tensor, seed: int, device: str = "cpu") -> Any:
    """Create a random number generator that continues from a saved state."""
    made = _C.Generator(device)
    made.manual_seed(seed)
    return made.set_state(state)
