"""`Parameter`: a tensor that is a leaf of its own and wants gradients; `Buffer`: one that a module keeps as state.

`UninitializedParameter` and `UninitializedBuffer` stand for those whose shape is not known yet. Their objects are ordinary ones with a
mark, so that they need not change their class when `materialize` gives them a shape: optimizers may hold them from the start.
"""

from __future__ import annotations

from undertow._C import Parameter, Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]


class _BufferMeta(type(Tensor)):
    """A tensor marked as a buffer is one, whatever its class."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return super().__instancecheck__(instance) or (isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False))


class Buffer(Tensor, metaclass=_BufferMeta):
    """Marks a tensor as a buffer: assigned to a module's attribute, it is registered as one.

    >>> import undertow as ut
    >>> module = ut.nn.Module()
    >>> module.mean = ut.nn.Buffer(ut.zeros(2))
    >>> list(module.state_dict())
    ['mean']
    """

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        import undertow

        tensor: Any = undertow.empty(0) if data is None else data.detach().requires_grad_(data.requires_grad)
        tensor.persistent = persistent
        tensor._is_buffer = True
        return tensor


def is_lazy(param: Any) -> bool:
    """Does the tensor still wait for its shape?"""
    return isinstance(param, Tensor) and getattr(param, "_waits_for_shape", False)


def _materialize(self: Any, shape: Any, device: Any = None, dtype: Any = None) -> None:
    """Gives a parameter or buffer that waits for its shape uninitialised memory of that shape."""
    import undertow

    if not is_lazy(self):
        raise RuntimeError(f"materialize: the tensor has a shape already, {list(self.shape)}")
    with undertow.no_grad():
        self.data = undertow.empty(shape, device=self.device if device is None else device, dtype=self.dtype if dtype is None else dtype)
    del self._waits_for_shape


class _LazyMeta(type(Tensor)):
    """Whatever waits for its shape is an instance."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return is_lazy(instance) and isinstance(instance, cls._kind)


class UninitializedParameter(Parameter, metaclass=_LazyMeta):
    """A parameter whose shape is not known yet; `materialize(shape)` gives it one.

    >>> import undertow as ut
    >>> p = ut.nn.UninitializedParameter()
    >>> p.materialize((2, 3))
    >>> p.shape, isinstance(p, ut.nn.UninitializedParameter)
    (undertow.Size([2, 3]), False)
    """

    _kind = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        import undertow

        param: Any = Parameter(undertow.empty(0, device=device, dtype=dtype), requires_grad)
        param._waits_for_shape = True
        return param


class UninitializedBuffer(Tensor, metaclass=_LazyMeta):
    """A buffer whose shape is not known yet; `materialize(shape)` gives it one."""

    _kind = Tensor

    def __new__(cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True) -> Any:
        import undertow

        buffer = Buffer(undertow.empty(0, device=device, dtype=dtype, requires_grad=requires_grad), persistent=persistent)
        buffer._waits_for_shape = True
        return buffer


Tensor.materialize = _materialize
