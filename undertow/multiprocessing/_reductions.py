"""Send tensors to other processes through multiprocessing's queues, pipes and arguments.

A tensor in shared memory is sent as a file descriptor, so that both processes share its bytes; any other is sent by
value. This is registered only with multiprocessing's pickler; ordinary pickles contain all data.
"""

from __future__ import annotations

from multiprocessing.reduction import DupFd, ForkingPickler

from undertow import _C, _pickle
from undertow._C import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _rebuild_shared(cls: type[Tensor], handle: Any, nbytes: int, layout: tuple[Any, ...]) -> Tensor:
    import os

    descriptor = handle.detach()
    try:
        storage = _C._storage_from_fd(descriptor, nbytes)
    finally:
        os.close(descriptor)
    name, offset, size, stride, requires_grad = layout
    t = _C._tensor_over(storage, getattr(_C, name), offset, size, stride)
    return _pickle._as_class(t, cls).requires_grad_(requires_grad)


def _reduce(t: Tensor) -> tuple[Any, ...]:
    if t.requires_grad and not t.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing process boundaries. "
            "If you just want to transfer the data, call detach() on the tensor before serializing (e.g., putting it on the queue)."
        )
    storage = t.untyped_storage()
    descriptor = storage._shared_fd()
    if descriptor is None:
        return _pickle.reduce_ex(t, 4)
    return _rebuild_shared, (type(t), DupFd(descriptor), storage.nbytes(), _pickle._layout_of(t))


def init_reductions() -> None:
    """Register tensors with multiprocessing's pickler; called when `undertow.multiprocessing` is imported."""
    ForkingPickler.register(Tensor, _reduce)
    ForkingPickler.register(_C.Parameter, _reduce)
