"""Parts of torch._C about the graph that PyTorch's tests use: `torch._C._autograd`, nodes made by hand, and weak references to tensors."""

from __future__ import annotations

import weakref
from _thread import _local

import undertow
from undertow import _C
from undertow.autograd import Function
from undertow.autograd.graph import Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from undertow import Tensor


class AutogradBindings:
    """torch._C._autograd: saved tensors and the state of the running pass."""

    SavedTensor = _C.SavedTensor
    _saved_tensors_hooks_disable = staticmethod(_C._saved_tensors_hooks_disable)
    _saved_tensors_hooks_enable = staticmethod(_C._saved_tensors_hooks_enable)
    _saved_tensors_hooks_get_disabled_error_message = staticmethod(_C._saved_tensors_hooks_get_disabled_error_message)
    _push_saved_tensors_default_hooks = staticmethod(_C._push_saved_tensors_default_hooks)
    _pop_saved_tensors_default_hooks = staticmethod(_C._pop_saved_tensors_default_hooks)
    _get_current_graph_task_keep_graph = staticmethod(_C._get_current_graph_task_keep_graph)
    _unsafe_set_version_counter = staticmethod(_C._unsafe_set_version_counter)

    @staticmethod
    def _saved_tensors_hooks_is_enabled() -> bool:
        """Return False inside `disable_saved_tensors_hooks`."""
        return _C._saved_tensors_hooks_get_disabled_error_message() is None

    @staticmethod
    def _make_saved_tensor(tensor: Tensor, is_output: bool) -> Any:
        """Save a tensor as a node would, with the active hooks."""
        return _C._make_saved_tensor(tensor, is_output)


class DelayedError:
    """A node that passes tensors on and raises when a gradient arrives at it."""

    def __init__(self, message: str, num_inputs: int) -> None:
        self.message, self.num_inputs = message, num_inputs

    def __call__(self, *tensors: Tensor | None) -> Any:
        found = _C._delayed_error(self.message, tensors, tensors)
        return found[0] if len(found) == 1 else found


class _UndefinedGrad(Function):
    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> Any:
        outputs = tuple(t.detach() for t in tensors)
        return outputs[0] if len(outputs) == 1 else outputs

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return (None,) * len(grads)


class UndefinedGrad:
    """A node that passes tensors on and sends undefined gradients back."""

    def __call__(self, *tensors: Tensor) -> Any:
        return _UndefinedGrad.apply(*tensors)


Node.register(DelayedError)
Node.register(UndefinedGrad)


class WeakTensorRef:
    """A reference that does not keep its tensor alive."""

    def __init__(self, tensor: Tensor) -> None:
        self._ref = weakref.ref(tensor)

    def expired(self) -> bool:
        """Return True if the tensor has been freed."""
        return self._ref() is None


_cached: weakref.WeakValueDictionary[int, Tensor] = weakref.WeakValueDictionary()  # by id; torch's set of tensors of CUDA graphs
_caching = False


def set_cached_tensors_enabled(enabled: bool) -> None:
    global _caching
    _caching = enabled


def add_cached_tensor(tensor: Tensor) -> None:
    _cached[id(tensor)] = tensor


def remove_cached_tensor(tensor: Tensor) -> None:
    _cached.pop(id(tensor), None)


def is_cached_tensor(tensor: Tensor) -> bool:
    return _caching and id(tensor) in _cached


_stash = _local()  # the objects of this thread


def stash_obj_in_tls(key: str, value: Any) -> None:
    vars(_stash)[key] = value


def get_obj_in_tls(key: str) -> Any:
    return vars(_stash)[key]


def is_key_in_tls(key: str) -> bool:
    return key in vars(_stash)


def same_feature_meta_zeros(input: Tensor, other: Tensor, *, self_num_batch_dims: int = 0) -> Tensor:
    """Return zeros with the batch dimensions of `input`, and otherwise the sizes, strides, offset and memory of `other`."""
    sizes, numel = list(input.shape[:self_num_batch_dims]), len(other.storage())
    strides: list[int] = []
    for size in reversed(sizes):
        strides.insert(0, numel)
        numel *= size
    memory = undertow.zeros(numel, dtype=other.dtype, device=other.device)
    return memory.as_strided([*sizes, *other.shape], [*strides, *other.stride()], other.storage_offset())
