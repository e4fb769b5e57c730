"""`Parameter`: a tensor that is a leaf of its own and wants gradients; `Buffer`: one that a module keeps as state."""

from __future__ import annotations

from undertow._C import Parameter, Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Buffer", "Parameter"]


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
