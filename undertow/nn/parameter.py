"""`Parameter`: a leaf tensor that requires grad; `Buffer`: a tensor that is part of a module's state.

Their uninitialized forms have no shape yet; a lazy module infers it on its first call.
"""

from __future__ import annotations

from undertow import _C
from undertow._C import Parameter, Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "UninitializedTensorMixin", "is_lazy"]


class _BufferMeta(type(Tensor)):  # type: ignore[misc]  # the metaclass of the core, which has no name
    """Metaclass that makes every tensor marked as a buffer an instance of `Buffer`."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return super().__instancecheck__(instance) or (isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False))


class Buffer(Tensor, metaclass=_BufferMeta):
    """Marks a tensor as a buffer, so that it is registered when it is assigned to an attribute of a module.

    >>> import undertow as ut
    >>> module = ut.nn.Module()
    >>> module.mean = ut.nn.Buffer(ut.zeros(2))
    >>> list(module.state_dict())
    ['mean']
    """

    if TYPE_CHECKING:
        persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Self:
        import undertow

        tensor: Any = undertow.empty(0) if data is None else data.detach().requires_grad_(data.requires_grad)
        tensor.persistent = persistent
        tensor._is_buffer = True
        return tensor


class _ParameterMeta(type(Tensor)):  # type: ignore[misc]  # as above
    """Metaclass that makes every tensor marked as a parameter an instance of `Parameter`."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return super().__instancecheck__(instance) or (
            cls is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False)
        )


def _parameter_of_class(data: Any, requires_grad: bool) -> Any:
    """Return a parameter that keeps the class of `data`, which has a `__torch_dispatch__`. Called by the core."""
    made = data.detach().requires_grad_(requires_grad)
    if type(made) is not type(data):
        raise RuntimeError(
            f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() returns an instance of the same type, but "
            f"return type {type(made).__name__} was found instead. To use the type as a Parameter, please correct the detach() semantics defined by "
            "its __torch_dispatch__() implementation."
        )
    if type(Parameter) is not _ParameterMeta:  # only now, so that isinstance() is as fast as before where no such class is used
        _C._set_parameter_metaclass(_ParameterMeta)
    made._is_param = True
    return made


# Operations that are allowed without a shape: queries and changes of dtype, device and similar properties.
_WITHOUT_SHAPE = {
    "__get__", "__set__", "__delete__", "__hash__", "size", "copy_", "is_complex", "is_floating_point", "half", "float", "double", "bfloat16",
    "char", "short", "int", "long", "cpu", "to", "get_device",
}  # fmt: skip


class UninitializedTensorMixin:
    """A tensor that has a dtype but no shape yet; `materialize` sets the shape."""

    data: Tensor
    cls_to_become: type[Tensor]

    def materialize(self: Any, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Convert to an ordinary tensor of the given shape with uninitialised values; it remains the same object.

        >>> p = UninitializedParameter()
        >>> p.materialize((2, 3))
        >>> type(p).__name__, tuple(p.shape)
        ('Parameter', (2, 3))
        """
        import undertow

        self.data = undertow.empty(shape, device=device, dtype=self.data.dtype if dtype is None else dtype)
        self._become(self.cls_to_become)

    @property
    def shape(self) -> Any:
        """Raise: there is no shape yet."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` when trying to load "
            "an uninitialized parameter into an initialized one. Call `forward` to initialize the parameters before accessing their attributes."
        )

    def share_memory_(self) -> Any:
        """Raise: there is no memory yet."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters before calling "
            "`module.share_memory()`."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self: Any, proto: Any) -> Any:
        return type(self), (self.requires_grad, None, self.data.dtype)

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, None, self.data.dtype)
        return memo[id(self)]

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") in _WITHOUT_SHAPE:
            return super().__torch_function__(func, types, args, {} if kwargs is None else kwargs)  # type: ignore[misc]  # Tensor's
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. This error happens when you are using a `LazyModule` or explicitly "
            f"manipulating `torch.nn.parameter.{cls.__name__}` objects. When using LazyModules Call `forward` with a dummy batch to initialize "
            "the parameters before calling torch functions"
        )


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter with an unknown shape."""

    cls_to_become: type[Any] = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Self:
        import undertow

        return Tensor._make_subclass(cls, undertow.empty(0, device=device, dtype=dtype), requires_grad)


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer with an unknown shape."""

    cls_to_become: type[Any] = Tensor

    def __new__(cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True) -> Self:
        import undertow

        buffer: Any = Tensor._make_subclass(cls, undertow.empty(0, device=device, dtype=dtype), requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer


def is_lazy(param: Any) -> bool:
    """Return True if `param` is uninitialized."""
    return isinstance(param, UninitializedTensorMixin)
